import { DomainError } from "../../domain-error.ts";
import { hashSecret } from "../hash-secret.ts";
import type { HttpRequest, HttpResponse } from "../../transport/http/node-exchange.ts";
import { randomSecret } from "../random.ts";
import type { Cookies } from "../../transport/pages/cookies.ts";
import type { ExternalChecks } from "./external-provider.ts";

/** A login that is under way at the external provider. */
export interface ExternalFlow {
  readonly checks: ExternalChecks;
  /** The checked path that it leads to. */
  readonly returnTo: string;
  /** The login session whose account the identity is for; undefined when the flow is to log in. */
  readonly linkSessionId: string | undefined;
}

/** Flows under way, each known to the browser that began it alone. */
export interface ExternalFlows {
  begin(response: HttpResponse, flow: Pick<ExternalFlow, "returnTo" | "linkSessionId">): ExternalFlow;
  /** The browser's flow, which is over with this. Fails with `forbidden` when it has none, or one that took too long. */
  finish(request: HttpRequest, response: HttpResponse): ExternalFlow;
}

const COOKIE = "external";
const LIFETIME_SECONDS = 900;
const VALUE = /^([0-9a-z]{6,10})\.([A-Za-z0-9_-]{43})\.((?:session_[A-Za-z0-9_-]{22})?)\.([A-Za-z0-9_-]*)$/;

/**
 * A flow lives in a cookie; state, nonce and PKCE verifier are keyed hashes of its whole value. So nothing of it is
 * stored, another browser cannot finish it, and a cookie that was changed fits no answer of the provider.
 */
export function createExternalFlows(deps: { readonly cookies: Cookies; readonly pepper: Uint8Array }): ExternalFlows {
  const { cookies, pepper } = deps;

  function checksOf(value: string): ExternalChecks {
    const derive = (purpose: string): string => hashSecret(pepper, `${purpose}\0${value}`).toString("base64url");
    return { state: derive("state"), nonce: derive("nonce"), codeVerifier: derive("verifier") };
  }

  return {
    begin(response, { returnTo, linkSessionId }) {
      const startedAt = Math.floor(Date.now() / 1_000).toString(36);
      const path = Buffer.from(returnTo).toString("base64url");
      const value = `${startedAt}.${randomSecret()}.${linkSessionId ?? ""}.${path}`;
      cookies.set(response, COOKIE, value, LIFETIME_SECONDS);
      return { checks: checksOf(value), returnTo, linkSessionId };
    },
    finish(request, response) {
      const value = cookies.read(request, COOKIE) ?? "";
      cookies.clear(response, COOKIE);
      const [, startedAt = "", , linkSessionId = "", path = ""] = VALUE.exec(value) ?? [];
      if (startedAt === "" || Number.parseInt(startedAt, 36) + LIFETIME_SECONDS < Date.now() / 1_000) {
        throw new DomainError("forbidden", "That login took too long or was begun in another window. Log in again.");
      }
      return {
        checks: checksOf(value),
        returnTo: Buffer.from(path, "base64url").toString(),
        linkSessionId: linkSessionId === "" ? undefined : linkSessionId,
      };
    },
  };
}
