import { html, type Html } from "./html.ts";
import { renderPage } from "./page.ts";

/** What a page says when there is nothing to fill in. */
export interface MessagePage {
  readonly title: string;
  /** One or two sentences for the person who reads them. */
  readonly message: string;
  /** Where to go from here. */
  readonly link?: { readonly path: string; readonly text: string };
  /** A form instead of a link, for what changes something. */
  readonly form?: Html;
}

/** A page with a message: an error, or a step that waits for the person. */
export function messagePage({ title, message, link, form }: MessagePage): string {
  return renderPage({
    title,
    body: html`<h1>${title}</h1>
      <p>${message}</p>
      ${form} ${link && html`<p><a href="${link.path}">${link.text}</a></p>`}`,
  });
}
