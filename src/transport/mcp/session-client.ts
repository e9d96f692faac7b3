import { createHash } from "node:crypto";
import type { ClientIdentity, RelayedClient } from "../../integrations/relayed-client.ts";
import type { SessionAnswers } from "../../runtime/relay/session-answers.ts";
import type { McpSession } from "../../runtime/sessions/session.ts";
import { notificationText, requestText } from "./message.ts";
import type { RequestStream } from "./reply.ts";

/** The client of a request with a session. Returns undefined if it declared nothing or accepts no stream. */
export function createSessionClient(
  answers: SessionAnswers,
  session: McpSession,
  reply: RequestStream,
  /** Aborted when the client cancels its request. */
  canceled: AbortSignal,
): RelayedClient | undefined {
  const identity = sessionIdentity(session);
  if (!reply.canNotify || identity === undefined) return undefined;
  return {
    capabilities: identity.capabilities,
    get audience() {
      return identity.audience;
    },
    input: undefined,
    ask: ({ method, params }, signal) =>
      answers.ask(
        session,
        {
          send: (id) => reply.notify(requestText(id, method, params)),
          cancel: (requestId) =>
            void reply.notify(
              notificationText("notifications/cancelled", { requestId, reason: "The answer is no longer awaited." }),
            ),
        },
        AbortSignal.any([signal, canceled]),
      ),
    notify: (method, params) => void reply.notify(notificationText(method, params)),
  };
}

/** Returns undefined for a client that declared nothing. */
export function sessionIdentity({ id, clientCapabilities: capabilities }: McpSession): ClientIdentity | undefined {
  if (Object.keys(capabilities).length === 0) return undefined;
  return {
    capabilities,
    get audience() {
      return createHash("sha256").update(id).digest("base64url");
    },
  };
}
