import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { type Html, html } from "./html.ts";

/** The path of the pages' style sheet. */
export const STYLE_PATH = "/assets/pages.css";

/** The style of every page; a file of its own, so that the policy need not allow inline style. */
export const STYLE: string = readFileSync(new URL("./style.css", import.meta.url), "utf8");

/** Part of the style sheet's address, so that a new one is fetched at once and the same one never again. */
export const STYLE_VERSION: string = createHash("sha256").update(STYLE).digest("hex").slice(0, 12);

/** What a page is made of. */
export interface Page {
  /** What the page is for, in a few words; the product's name is added. */
  readonly title: string;
  /** Everything below the product's name, beginning with an `h1`. */
  readonly body: Html;
}

/** A whole HTML document: small, plain, without script, readable in light and dark. */
export function renderPage({ title, body }: Page): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <title>${title} · Patchbay</title>
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="robots" content="noindex" />
        <link rel="stylesheet" href="${STYLE_PATH}?v=${STYLE_VERSION}" />
      </head>
      <body>
        <header>Patchbay</header>
        <main>${body}</main>
      </body>
    </html> `.text;
}

/** What is wrong with what was entered, where assistive technology and the eye meet it first. */
export function errorSummary(message: string | undefined): Html | undefined {
  if (message === undefined) return undefined;
  return html`<p class="error" role="alert" id="error">${message}</p>`;
}
