import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { html } from "../auth/pages/html.ts";
import { renderPage } from "../auth/pages/page.ts";
import { sendPage } from "../auth/pages/send-page.ts";
import { createAssets } from "./assets.ts";
import { errorBody } from "./rest/answer.ts";
import type { NodeRoute } from "./router.ts";

/** The addresses that the console's own router knows, here and in `src/console/router.tsx`. */
const ADDRESSES = ["/", "/connections", "/connections/*", "/agents", "/tokens", "/activity", "/admin"];

/** Where the built scripts and styles are; their names change with their content. */
const ASSETS = "/assets/console/*";

/** What the build leaves in the page for the nonce. */
const NONCE = /\{\{nonce\}\}/g;

/** Script and data from here alone; style from here, and what the component library makes while this page is shown. */
function policy(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join("; ");
}

const NOT_BUILT = renderPage({
  title: "No console",
  body: html`<h1>The console is not built</h1>
    <p>Run <code>npm run build:console</code> where Patchbay is installed. The API works without it.</p>`,
});

/** Serves the web console from the folder that its build has filled. */
export function createConsoleRoutes(folder: string): readonly NodeRoute[] {
  let page: Promise<string | undefined> | undefined;
  const readIndex = (): Promise<string | undefined> => readFile(`${folder}/index.html`, "utf8").catch(() => undefined);

  const pages = ADDRESSES.map((path): NodeRoute => ({
    path,
    handle: async (request, response) => {
      if (request.method !== "GET" && request.method !== "HEAD") {
        response.writeHead(405, { allow: "GET, HEAD", "content-type": "application/json" });
        response.end(errorBody("METHOD_NOT_ALLOWED", "Method not allowed."));
        return;
      }
      page ??= readIndex();
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
  }));
  return [...pages, { path: ASSETS, handle: createAssets(folder) }];
}
