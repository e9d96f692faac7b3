import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { RouteMethods } from "../../http/router.ts";
import { answerPage } from "../answer-page.ts";

/** What the build leaves in a page for the nonce. */
const NONCE = /\{\{nonce\}\}/g;

/** What a built page adds to the policy that all of them have. */
export interface BuiltPagePolicy {
  /** Sources of fonts; none unless told. */
  readonly fonts?: "'self'";
  /** Where forms may be sent. */
  readonly forms: "'self'" | "'none'";
}

/** Script and requests from and to here alone; style from here, and what the page makes while it is shown. */
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
 * Serves the page that a build has left as `index.html` in a folder, under a nonce of its own each time. It is read at the
 * first request; until it is there, `notBuilt` answers with a 503.
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
