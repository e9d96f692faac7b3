import { html, type Html } from "./html.ts";
import { renderPage } from "./page.ts";

/** The content of a page without a form to fill in. */
export interface MessagePage {
  readonly title: string;
  /** One or two sentences for the reader. */
  readonly message: string;
  /** The link to continue with. */
  readonly link?: { readonly path: string; readonly text: string };
  /** A form instead of a link, for actions that change something. */
  readonly form?: Html;
}

/** A page with a message: an error or a next step. */
export function messagePage({ title, message, link, form }: MessagePage): string {
  return renderPage({
    title,
    body: html`<h1>${title}</h1>
      <p>${message}</p>
      ${form} ${link && html`<p><a href="${link.path}">${link.text}</a></p>`}`,
  });
}
