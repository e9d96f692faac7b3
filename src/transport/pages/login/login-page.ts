import { html, type Html } from "../html.ts";
import { errorSummary, renderPage } from "../page.ts";

export interface LoginPage {
  /** The hidden CSRF field. */
  readonly csrfField: Html;
  /** The checked path to open after the login. */
  readonly returnTo: string;
  /** The previously entered e-mail address. */
  readonly email?: string;
  readonly error?: string;
  readonly notice?: string;
  /** The external provider, if configured. */
  readonly provider?: { readonly name: string; readonly path: string } | undefined;
}

export function loginPage({ csrfField, returnTo, email = "", error, notice, provider }: LoginPage): string {
  const described = error === undefined ? undefined : html` aria-describedby="error"`;
  return renderPage({
    title: error === undefined ? "Log in" : "Error: log in",
    body: html`<h1>Log in</h1>
      ${errorSummary(error)} ${notice === undefined ? undefined : html`<p class="notice" role="status">${notice}</p>`}
      <form method="post" action="/login">
        ${csrfField}
        <input type="hidden" name="return_to" value="${returnTo}" />
        <label for="email">E-mail address</label>
        <input
          id="email"
          name="email"
          type="text"
          inputmode="email"
          autocomplete="username"
          autocapitalize="none"
          spellcheck="false"
          maxlength="254"
          required
          value="${email}"
          ${described}
        />
        <label for="password">Password</label>
        <input
          id="password"
          name="password"
          type="password"
          autocomplete="current-password"
          maxlength="1024"
          required
          ${described}
        />
        <button type="submit">Log in</button>
      </form>
      ${provider && html`<a class="button secondary" href="${provider.path}">Log in with ${provider.name}</a>`}`,
  });
}
