import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { type Html, html } from "./html.ts";

/** Path of the pages' style sheet. */
export const STYLE_PATH = "/assets/pages.css";

/** The style of every page, in its own file so that the policy need not allow inline styles. */
export const STYLE: string = readFileSync(new URL("./style.css", import.meta.url), "utf8");

/** Part of the style sheet's address: browsers cache each version forever and fetch a new one at once. */
export const STYLE_VERSION: string = createHash("sha256").update(STYLE).digest("hex").slice(0, 12);

export interface Page {
  /** The purpose of the page in a few words; the product's name is added. */
  readonly title: string;
  /** The content below the product's name, starting with an `h1`. */
  readonly body: Html;
}

/** A complete HTML document: small, without scripts, readable in light and dark mode. */
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

/** The error of a form, at the top where assistive technology announces it first. */
export function errorSummary(message: string | undefined): Html | undefined {
  if (message === undefined) return undefined;
  return html`<p class="error" role="alert" id="error">${message}</p>`;
}
