import type { AuditRecorder, NewAuditEvent } from "../audit/audit-event.ts";
import { INSTALLATION_LOG } from "../audit/audit-event.ts";
import type { LoginEvent, RecordLogin } from "./login-events.ts";

const OF_SESSION = { login: "session.login", logout: "session.logout" } as const;
const OF_ACCOUNT = { password_change: "account.change_password", identity_link: "account.link_identity" } as const;

/** A login that matches no account goes to the installation's log. */
function toAuditEvent(event: LoginEvent): NewAuditEvent {
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

/** Reports an event that cannot be written to `onError` and lets the login continue. */
export function createRecordLogin(recorder: AuditRecorder, onError: (error: unknown) => void): RecordLogin {
  return (event) => recorder.record(toAuditEvent(event)).catch(onError);
}
