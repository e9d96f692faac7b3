import type { RequestId, WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";

/** Requests of a server to its client with chosen ids, which the SDK cannot send. */
export interface KeyedRequests {
  /** Sends a request on the stream of another one and resolves with the client's result. Rejects with its error. */
  ask(
    relatedRequestId: RequestId,
    key: string,
    request: { readonly method: string; readonly params?: object | undefined },
  ): Promise<unknown>;
}

/** Call it after the transport is connected. */
export function createKeyedRequests(transport: WebStandardStreamableHTTPServerTransport): KeyedRequests {
  const waiting = new Map<RequestId, (message: { readonly result?: unknown; readonly error?: unknown }) => void>();
  const { onmessage } = transport;
  transport.onmessage = (message, extra) => {
    const isAnswer = "result" in message || "error" in message;
    const settle = isAnswer ? waiting.get(message.id ?? "") : undefined;
    if (settle === undefined || !isAnswer) onmessage?.(message, extra);
    else settle(message);
  };
  return {
    async ask(relatedRequestId, key, { method, params }) {
      const id = key;
      // Ids are unique in a session: a question that its call abandoned gives way to a new one with its name.
      waiting.get(id)?.({ error: "superseded" });
      const { promise, resolve } = Promise.withResolvers<{ readonly result?: unknown; readonly error?: unknown }>();
      waiting.set(id, resolve);
      try {
        await transport.send({ jsonrpc: "2.0", id, method, params: { ...params } }, { relatedRequestId });
        const { result, error } = await promise;
        if (error !== undefined) throw new Error(JSON.stringify(error));
        return result;
      } finally {
        if (waiting.get(id) === resolve) waiting.delete(id);
      }
    },
  };
}
