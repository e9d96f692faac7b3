import { html, type Html } from "../html.ts";
import { logoutForm } from "../login/logout-form.ts";
import { renderPage } from "../page.ts";

export interface AccountPage {
  readonly csrfField: Html;
  readonly email: string;
  readonly isAdmin: boolean;
  readonly hasPassword: boolean;
  readonly notice?: string | undefined;
  /** The external provider, and whether it is linked to this account. */
  readonly provider?: { readonly name: string; readonly isConnected: boolean } | undefined;
}

/** The account page, with the logout button. */
export function accountPage({ csrfField, email, isAdmin, hasPassword, notice, provider }: AccountPage): string {
  return renderPage({
    title: "Your account",
    body: html`<h1>Your account</h1>
      ${notice === undefined ? undefined : html`<p class="notice" role="status">${notice}</p>`}
      <p>You are logged in as <strong>${email}</strong>${isAdmin ? ", an administrator" : ""}.</p>
      <p><a href="/">To the console</a></p>
      ${
        hasPassword
          ? html`<p><a href="/account/password">Change your password</a></p>`
          : html`<p class="hint">You log in without a password.</p>`
      }
      ${provider && connection(provider, csrfField)} ${logoutForm(csrfField)}`,
  });
}

function connection(provider: NonNullable<AccountPage["provider"]>, csrfField: Html): Html {
  if (provider.isConnected) return html`<p class="hint">You can also log in with ${provider.name}.</p>`;
  return html`<form method="post" action="/login/external">
    ${csrfField}
    <button type="submit" class="secondary">Log in with ${provider.name} from now on</button>
  </form>`;
}
