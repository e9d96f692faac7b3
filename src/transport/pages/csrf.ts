import { timingSafeEqual } from "node:crypto";
import { DomainError } from "../../domain-error.ts";
import { hashSecret } from "../../identity/hash-secret.ts";
import type { HttpExchange } from "../http/exchange.ts";
import { type Html, html } from "./html.ts";

/** The secret a token is bound to: of a login session, or of a browser that is not logged in. */
export interface CsrfBinding {
  readonly id: string;
}

/** Distinguishes forms of our own pages from those of other sites. */
export interface Csrf {
  /** The token for the forms of one session; it is invalid in another session. */
  token(session: CsrfBinding): string;
  /** The hidden form field with the token. */
  field(session: CsrfBinding): Html;
  /** Fails with `forbidden` unless the request comes from this site and has the session's token. */
  check(session: CsrfBinding, exchange: HttpExchange, form: URLSearchParams): void;
  /** Fails with `forbidden` unless the browser states that the request comes from this site. */
  checkOrigin(exchange: HttpExchange): void;
}

const FIELD = "csrf_token";

function foreign(hint = ""): DomainError {
  const message = `This form was not sent from a page of this site. Go back, reload and try again.${hint}`;
  return new DomainError("forbidden", message);
}

/**
 * Requires an unguessable token and checks the origin that the browser states, so that one failing defense is no
 * breach. Browsers have sent `Origin` with every form since 2020; a request without it is not from a current browser,
 * and the token still decides.
 */
export function createCsrf({ publicUrl, pepper }: { readonly publicUrl: string; readonly pepper: Uint8Array }): Csrf {
  const ownOrigin = new URL(publicUrl).origin;
  // The NUL separates it from all other values hashed with the same key, which cannot contain one.
  const tokenOf = (session: CsrfBinding): Buffer => hashSecret(pepper, `csrf\0${session.id}`);

  function checkOrigin(exchange: HttpExchange): void {
    const { origin } = exchange.headers;
    const site = exchange.headers["sec-fetch-site"];
    if (origin !== undefined && origin !== ownOrigin) throw foreign(` This site is at ${ownOrigin}.`);
    if (site !== undefined && site !== "same-origin") throw foreign();
  }

  const csrf: Csrf = {
    token: (session) => tokenOf(session).toString("base64url"),
    field: (session) => html`<input type="hidden" name="${FIELD}" value="${csrf.token(session)}" />`,
    check(session, exchange, form) {
      checkOrigin(exchange);
      const given = Buffer.from(form.get(FIELD) ?? "", "base64url");
      const expected = tokenOf(session);
      if (given.length !== expected.length || !timingSafeEqual(given, expected)) throw foreign();
    },
    checkOrigin,
  };
  return csrf;
}
