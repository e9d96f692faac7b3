import { OPERATOR } from "../actor.ts";
import type { RewrapReport } from "../keys/rewrap-secrets.ts";
import { INSTALLATION_LOG, type NewAuditEvent } from "./audit-event.ts";

/** The audit event of a rewrap, with the columns that changed. */
export function rewrapEvent({ masterKeyVersion, rewrapped, failed }: RewrapReport): NewAuditEvent {
  return {
    accountId: INSTALLATION_LOG,
    action: "master_key.rewrap",
    outcome: Object.values(failed).some((count) => count > 0) ? "refused" : "ok",
    actor: OPERATOR,
    objectType: "master_key",
    objectId: String(masterKeyVersion),
    objectName: "",
    changed: Object.keys(rewrapped).filter((place) => (rewrapped[place] ?? 0) > 0),
  };
}
