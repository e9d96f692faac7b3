import { createHash } from "node:crypto";
import type { Principal } from "../../identity/principal.ts";
import { INVALID_PARAMS, RpcError } from "../../integrations/rpc-error.ts";
import { isJsonObject, parseJson, printInKeyOrder, type JsonObject, type JsonValue } from "../../json.ts";

/** Seconds that a client may take to answer. */
const LIFETIME_SECONDS = 3_600;

/** Encrypts text so that only the same account and binding can open it. */
export interface StateSealer {
  seal(text: string, accountId: string, binding: string): string;
  /** Returns undefined for text that was changed or sealed for another account or binding. */
  open(sealed: string, accountId: string, binding: string): string | undefined;
}

/** The request that a state belongs to. */
export interface StatefulRequest {
  readonly principal: Principal;
  readonly method: string;
  /** The parameters without `_meta` and input. */
  readonly params: JsonObject;
}

/** What the service keeps in the client's `requestState`. */
export type RequestState =
  | {
      readonly kind: "upstream";
      readonly connectionId: number;
      /** The upstream's own state. */
      readonly state: string | undefined;
    }
  /** A call that waits for its client. */
  | { readonly kind: "parked"; readonly address: string };

/**
 * The `requestState` of 2026-07-28: the upstream's state and its connection, encrypted for one client and one request.
 * Any replica can open it, and nothing is stored.
 */
export interface RequestStates {
  seal(request: StatefulRequest, state: RequestState): string;
  /** Throws RpcError for a state that was changed, has expired, or belongs to another client or request. */
  open(request: StatefulRequest, sealed: string): RequestState;
}

export function createRequestStates(sealer: StateSealer, now: () => number = Date.now): RequestStates {
  return {
    seal(request, state) {
      const expiresAt = Math.floor(now() / 1_000) + LIFETIME_SECONDS;
      return sealer.seal(JSON.stringify({ ...state, expiresAt }), request.principal.accountId, bindingOf(request));
    },
    open(request, sealed) {
      const text = sealer.open(sealed, request.principal.accountId, bindingOf(request));
      const opened = text === undefined ? undefined : parseJson(text, { maxDepth: 2 });
      const found = isJsonObject(opened) ? readState(opened, now()) : undefined;
      if (found === undefined) {
        const message =
          "requestState is not valid for this request: it was changed, has expired, or belongs to another request or client. " +
          "Send the request again without requestState and inputResponses.";
        throw new RpcError({ code: INVALID_PARAMS, message });
      }
      return found;
    },
  };
}

function readState(opened: JsonObject, nowMs: number): RequestState | undefined {
  const { kind, connectionId, state, address, expiresAt } = opened;
  if (typeof expiresAt !== "number" || expiresAt * 1_000 < nowMs) return undefined;
  if (kind === "parked") return typeof address === "string" ? { kind, address } : undefined;
  if (typeof connectionId !== "number") return undefined;
  return { kind: "upstream", connectionId, state: typeof state === "string" ? state : undefined };
}

/** Identifies the request by its content, because a client gives the repeated request another id. */
function bindingOf({ principal, method, params }: StatefulRequest): string {
  const { _meta: _, inputResponses: _responses, requestState: _state, ...asked } = params;
  const digest = createHash("sha256")
    .update(printInKeyOrder([method, asked]))
    .digest("base64url");
  const { memberId, clientId, grantId, connectionId } = principal;
  // Replicas of the previous version know no members, so nothing is added for others.
  const member = memberId === undefined ? [] : [memberId];
  const parts: JsonValue[] = [clientId, grantId ?? null, connectionId ?? null, digest, ...member];
  return JSON.stringify(parts);
}
