import { DomainError } from "../../domain-error.ts";
import { hashSecret } from "../hash-secret.ts";
import { randomSecret } from "../random.ts";
import type { ExternalChecks } from "./external-provider.ts";

/** A login that is under way at the external provider. */
export interface ExternalFlow {
  readonly checks: ExternalChecks;
  /** The checked path that it leads to. */
  readonly returnTo: string;
  /** The login session whose account the identity is for; undefined when the flow is to log in. */
  readonly linkSessionId: string | undefined;
}

/** Flows under way, each known to the browser alone that keeps its text. */
export interface ExternalFlows {
  /** Begins a flow; `text` is for the browser to keep for `EXTERNAL_FLOW_SECONDS`. */
  start(flow: Pick<ExternalFlow, "returnTo" | "linkSessionId">): ExternalFlow & { readonly text: string };
  /** The flow of the text that a browser kept. Fails with `forbidden` when it kept none, or for too long. */
  complete(text: string | undefined): ExternalFlow;
}

/** How long a login at the provider may take. */
export const EXTERNAL_FLOW_SECONDS = 900;

const TEXT = /^([0-9a-z]{6,10})\.([A-Za-z0-9_-]{43})\.((?:session_[A-Za-z0-9_-]{22})?)\.([A-Za-z0-9_-]*)$/;

/**
 * A flow lives in its text; state, nonce and PKCE verifier are keyed hashes of all of it. So nothing of it is stored,
 * another browser cannot finish it, and a text that was changed fits no answer of the provider.
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
        throw new DomainError("forbidden", "That login took too long or was begun in another window. Log in again.");
      }
      return {
        checks: checksOf(text),
        returnTo: Buffer.from(path, "base64url").toString(),
        linkSessionId: linkSessionId === "" ? undefined : linkSessionId,
      };
    },
  };
}
