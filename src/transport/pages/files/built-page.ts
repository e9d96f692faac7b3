import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { RouteMethods } from "../../http/router.ts";
import { answerPage } from "../answer-page.ts";

/** The nonce placeholder in a built page. */
const NONCE = /\{\{nonce\}\}/g;

/** Additions to the content security policy of a built page. */
export interface BuiltPagePolicy {
  /** Sources of fonts. Default: none. */
  readonly fonts?: "'self'";
  /** Allowed form targets. */
  readonly forms: "'self'" | "'none'";
}

/** Scripts and requests only from and to this origin; styles from this origin and inline. */
function policyOf(nonce: string, { fonts, forms }: BuiltPagePolicy): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    ...(fonts === undefined ? [] : [`font-src ${fonts}`]),
    "connect-src 'self'",
    "base-uri 'none'",
    `form-action ${forms}`,
    "frame-ancestors 'none'",
  ].join("; ");
}

/**
 * Serves the built `index.html` of a folder, with a new nonce each time. Reads it on the first request; until it
 * exists, sends `notBuilt` with 503.
 */
export function createBuiltPage(folder: string, notBuilt: string, policy: BuiltPagePolicy): RouteMethods {
  let page: Promise<string | undefined> | undefined;
  return {
    GET: async (exchange) => {
      page ??= readFile(`${folder}/index.html`, "utf8").catch(() => undefined);
      const index = await page;
      if (index === undefined) {
        page = undefined;
        answerPage(exchange, 503, notBuilt);
        return;
      }
      const nonce = randomBytes(16).toString("base64");
      const headers = { "content-security-policy": policyOf(nonce, policy) };
      answerPage(exchange, 200, index.replaceAll(NONCE, nonce), { headers });
    },
  };
}
