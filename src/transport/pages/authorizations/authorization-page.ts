import { html, type Html } from "../html.ts";
import { errorSummary, renderPage } from "../page.ts";

export interface AuthorizationPage {
  /** The hidden CSRF field. */
  readonly csrfField: Html;
  /** The checked target path of the form. */
  readonly action: string;
  readonly connectionName: string;
  /** The name of the vendor, or a host. */
  readonly upstreamName: string;
  /** The logged-in account. */
  readonly email: string;
  readonly error?: string;
}

/** The page that starts the authorization of a connection. It names the upstream and the account. */
export function authorizationPage(page: AuthorizationPage): string {
  const { csrfField, action, connectionName, upstreamName, email, error } = page;
  return renderPage({
    title: error === undefined ? `Connect ${connectionName}` : `Error: connect ${connectionName}`,
    body: html`<h1>Connect “${connectionName}” to ${upstreamName}?</h1>
      ${errorSummary(error)}
      <p>
        <strong>${upstreamName}</strong> says where you log in next. There you allow Patchbay to use it for you; your
        password stays there.
      </p>
      <form method="post" action="${action}">
        ${csrfField}
        <button type="submit">${error === undefined ? "Continue and log in there" : "Try again"}</button>
      </form>
      <p class="hint">
        You are logged in here as ${email}. Only go on if you, or an application of yours, asked for this connection.
      </p>`,
  });
}
