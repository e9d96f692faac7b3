import { LRUCache } from "lru-cache";
import { atMost } from "../../at-most.ts";
import type { Origin } from "../actor.ts";
import type { AuditOutcome, AuditRecorder } from "./audit-event.ts";

/** A token that a client asked for. */
export interface TokenIssue extends Origin {
  readonly accountId: string;
  readonly clientId: string;
  readonly outcome: AuditOutcome;
}

/** Writes down who gets tokens from where. Never waits, never fails. */
export type RecordTokenIssue = (issue: TokenIssue) => void;

const HOUR_MS = 3_600_000;

/** More clients and addresses than this in an hour are written down more often than hourly. */
const REMEMBERED = 10_000;

/**
 * Programs get tokens over and over, so a client's tokens from one address are one event an hour and replica, as are its
 * failures; a new address shows at once.
 */
export function createTokenIssues(deps: {
  readonly recorder: AuditRecorder;
  readonly onError: (error: unknown) => void;
}): RecordTokenIssue {
  const recent = new LRUCache<string, true>({ ...atMost(REMEMBERED), ttl: HOUR_MS });
  return ({ accountId, clientId, outcome, address, userAgent }) => {
    const key = `${outcome} ${clientId} ${address}`;
    if (recent.has(key)) return;
    recent.set(key, true);
    deps.recorder
      .record({
        accountId,
        action: "token.issue",
        outcome,
        actor: { kind: "account", accountId, clientId, tokenId: undefined, address, userAgent },
        objectType: "oauth_client",
        objectId: clientId,
        objectName: "",
        changed: [],
      })
      .catch(deps.onError);
  };
}
