import { LRUCache } from "lru-cache";
import { atMost } from "../../at-most.ts";
import type { Origin } from "../actor.ts";
import type { AuditOutcome, AuditRecorder } from "./audit-event.ts";

export interface TokenIssue extends Origin {
  readonly accountId: string;
  /** Whom the token acts for in an organization. */
  readonly memberId?: string | undefined;
  readonly clientId: string;
  readonly outcome: AuditOutcome;
}

/** Records a token request. Returns at once and never throws. */
export type RecordTokenIssue = (issue: TokenIssue) => void;

const HOUR_MS = 3_600_000;

/** Above this number of clients and addresses per hour, events may repeat within the hour. */
const REMEMBERED = 10_000;

/**
 * Records at most one event per hour, outcome, client and address on each replica, because programs request tokens
 * often.
 */
export function createTokenIssues(deps: {
  readonly recorder: AuditRecorder;
  readonly onError: (error: unknown) => void;
}): RecordTokenIssue {
  const recent = new LRUCache<string, true>({ ...atMost(REMEMBERED), ttl: HOUR_MS });
  return ({ accountId, memberId, clientId, outcome, address, userAgent }) => {
    const key = `${outcome} ${clientId} ${address}`;
    if (recent.has(key)) return;
    recent.set(key, true);
    deps.recorder
      .record({
        accountId,
        action: "token.issue",
        outcome,
        actor: { kind: "account", accountId: memberId ?? accountId, clientId, tokenId: undefined, address, userAgent },
        objectType: "oauth_client",
        objectId: clientId,
        objectName: "",
        changed: [],
      })
      .catch(deps.onError);
  };
}
