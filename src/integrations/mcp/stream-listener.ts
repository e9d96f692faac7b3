import type { JsonObject, JsonValue } from "../../json.ts";
import { isResponse, messagesIn } from "./json-rpc.ts";
import type { Session } from "./session.ts";

/** How many requests of a server are answered while one of ours is open: more would let it make us send without end. */
const MAX_SERVER_REQUESTS = 32;

/** What is heard on the stream that answers a request. */
export interface StreamListener {
  /** Takes the text of an event; true once the response has been heard. */
  hear(text: string): boolean;
  response(): JsonObject | undefined;
}

/** Keeps the awaited response, and answers through `reply` what the server asks meanwhile. */
export function createStreamListener(
  session: Session,
  id: number,
  reply: (message: JsonObject) => void,
): StreamListener {
  let response: JsonObject | undefined;
  let served = 0;
  const serve = (requestId: JsonValue, method: string): void => {
    served += 1;
    if (served > MAX_SERVER_REQUESTS) return;
    if (method === "ping") reply({ id: requestId, result: {} });
    else reply({ id: requestId, error: { code: -32601, message: `${method} is not supported by this client` } });
  };
  return {
    hear: (text) => {
      for (const message of messagesIn(text)) {
        const { id: messageId, method } = message;
        if (isResponse(message, id)) response = message;
        else if (session.era === "handshake" && typeof method === "string" && messageId !== undefined)
          serve(messageId, method);
      }
      return response !== undefined;
    },
    response: () => response,
  };
}
