import { DomainError } from "../../domain-error.ts";
import { hashSecret } from "../hash-secret.ts";
import { randomSecret } from "../random.ts";
import type { ExternalChecks } from "./external-provider.ts";

/** A login in progress at the external provider. */
export interface ExternalFlow {
  readonly checks: ExternalChecks;
  /** The validated path to open after the login. */
  readonly returnTo: string;
  /** The login session to link the identity to; undefined for a login. */
  readonly linkSessionId: string | undefined;
}

/** Flows in progress, stored only in the user's browser. */
export interface ExternalFlows {
  /** Starts a flow. The browser stores `text` for `EXTERNAL_FLOW_SECONDS`. */
  start(flow: Pick<ExternalFlow, "returnTo" | "linkSessionId">): ExternalFlow & { readonly text: string };
  /** Parses the text that a browser stored. Throws `forbidden` for a missing or expired one. */
  complete(text: string | undefined): ExternalFlow;
}

/** The longest duration of a login at the provider, in seconds. */
export const EXTERNAL_FLOW_SECONDS = 900;

const TEXT = /^([0-9a-z]{6,10})\.([A-Za-z0-9_-]{43})\.((?:session_[A-Za-z0-9_-]{22})?)\.([A-Za-z0-9_-]*)$/;

/**
 * State, nonce and PKCE verifier are keyed hashes of the text. So the server stores nothing, another browser cannot
 * complete the flow, and a modified text matches no response of the provider.
 */
export function createExternalFlows({ pepper }: { readonly pepper: Uint8Array }): ExternalFlows {
  function checksOf(text: string): ExternalChecks {
    const derive = (purpose: string): string => hashSecret(pepper, `${purpose}\0${text}`).toString("base64url");
    return { state: derive("state"), nonce: derive("nonce"), codeVerifier: derive("verifier") };
  }

  return {
    start({ returnTo, linkSessionId }) {
      const startedAt = Math.floor(Date.now() / 1_000).toString(36);
      const path = Buffer.from(returnTo).toString("base64url");
      const text = `${startedAt}.${randomSecret()}.${linkSessionId ?? ""}.${path}`;
      return { checks: checksOf(text), returnTo, linkSessionId, text };
    },
    complete(text = "") {
      const [, startedAt = "", , linkSessionId = "", path = ""] = TEXT.exec(text) ?? [];
      if (startedAt === "" || Number.parseInt(startedAt, 36) + EXTERNAL_FLOW_SECONDS < Date.now() / 1_000) {
        throw new DomainError("forbidden", "That login took too long or was started in another window. Log in again.");
      }
      return {
        checks: checksOf(text),
        returnTo: Buffer.from(path, "base64url").toString(),
        linkSessionId: linkSessionId === "" ? undefined : linkSessionId,
      };
    },
  };
}
