import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { html } from "../auth/pages/html.ts";
import { renderPage } from "../auth/pages/page.ts";
import { sendPage } from "../auth/pages/send-page.ts";
import { createAssets } from "./assets.ts";
import { errorBody } from "./rest/answer.ts";
import type { NodeRoute } from "./router.ts";

/** What the build leaves in the page for the nonce. */
const NONCE = /\{\{nonce\}\}/g;

/** Scripts from here, requests to here; style from here, and what the page makes while it is shown. */
function policy(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

const NOT_BUILT = renderPage({
  title: "No reference",
  body: html`<h1>The API reference is not built</h1>
    <p>
      Run <code>npm run build:reference</code> where Patchbay is installed. The contract itself is at
      <a href="/openapi.yaml">/openapi.yaml</a>.
    </p>`,
});

/** Serves the API reference at `/docs` from the folder that `src/reference/build.js` has filled. */
export function createReferenceRoutes(folder: string): readonly NodeRoute[] {
  let page: Promise<string | undefined> | undefined;
  return [
    {
      path: "/docs",
      handle: async (request, response) => {
        if (request.method !== "GET" && request.method !== "HEAD") {
          response.writeHead(405, { allow: "GET, HEAD", "content-type": "application/json" });
          response.end(errorBody("METHOD_NOT_ALLOWED", "Method not allowed."));
          return;
        }
        page ??= readFile(`${folder}/index.html`, "utf8").catch(() => undefined);
        const index = await page;
        if (index === undefined) {
          page = undefined;
          sendPage(response, 503, NOT_BUILT);
          return;
        }
        const nonce = randomBytes(16).toString("base64");
        const headers = { "content-security-policy": policy(nonce) };
        sendPage(response, 200, index.replaceAll(NONCE, nonce), { headers });
      },
    },
    { path: "/assets/docs/*", handle: createAssets(folder) },
  ];
}
