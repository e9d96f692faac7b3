import type { AuditRecorder, NewAuditEvent } from "../audit/audit-event.ts";
import { INSTALLATION_LOG } from "../audit/audit-event.ts";
import type { LoginEvent, RecordLogin } from "./login-events.ts";

const OF_SESSION = { login: "session.login", logout: "session.logout" } as const;
const OF_ACCOUNT = { password_change: "account.change_password", identity_link: "account.link_identity" } as const;

/** What the audit log says of a login event. A login that names no account of ours is the installation's to know of. */
export function toAuditEvent(event: LoginEvent): NewAuditEvent {
  const { action, accountId, sessionId, address, userAgent } = event;
  const isOfSession = action === "login" || action === "logout";
  return {
    accountId: accountId ?? INSTALLATION_LOG,
    action: isOfSession ? OF_SESSION[action] : OF_ACCOUNT[action],
    outcome: event.outcome === "success" ? "ok" : "refused",
    actor: { kind: "account", accountId, clientId: sessionId, tokenId: undefined, address, userAgent },
    objectType: isOfSession ? "session" : "account",
    objectId: (isOfSession ? sessionId : accountId) ?? "",
    objectName: "",
    changed: [],
  };
}

/** Writes login events into the audit log. One that cannot be written is the operator's to hear of, and stops nobody. */
export function createRecordLogin(recorder: AuditRecorder, onError: (error: unknown) => void): RecordLogin {
  return (event) => recorder.record(toAuditEvent(event)).catch(onError);
}
