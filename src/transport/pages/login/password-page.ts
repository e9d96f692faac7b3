import { html, type Html } from "../html.ts";
import { errorSummary, renderPage } from "../page.ts";

export interface PasswordPage {
  readonly csrfField: Html;
  /** For password managers, which store a password by account. */
  readonly email: string;
  readonly length: { readonly min: number; readonly max: number };
  readonly error?: string;
  /** The field with the error. */
  readonly wrongField?: string | undefined;
}

/** The page for changing one's password. */
export function passwordPage({ csrfField, email, length, error, wrongField }: PasswordPage): string {
  const field = (name: string, label: string, autocomplete: string, hint?: Html): Html => {
    const isWrong = error !== undefined && wrongField === name;
    const describedBy = [...(isWrong ? ["error"] : []), ...(hint === undefined ? [] : [`${name}-hint`])].join(" ");
    return html`<label for="${name}">${label}</label>
      ${hint}
      <input
        id="${name}"
        name="${name}"
        type="password"
        autocomplete="${autocomplete}"
        maxlength="1024"
        required
        ${describedBy === "" ? undefined : html` aria-describedby="${describedBy}"`}
        ${isWrong ? html` aria-invalid="true"` : undefined}
      />`;
  };
  const hint = html`<p class="hint" id="next-hint">
    At least ${length.min} characters. A few unrelated words make a good one.
  </p>`;
  return renderPage({
    title: error === undefined ? "Change your password" : "Error: change your password",
    body: html`<h1>Change your password</h1>
      ${errorSummary(error)}
      <p>Every other browser in which you are logged in will have to log in again.</p>
      <form method="post" action="/account/password">
        ${csrfField}
        <input type="text" name="username" autocomplete="username" value="${email}" hidden readonly />
        ${field("current", "Current password", "current-password")}
        ${field("next", "New password", "new-password", hint)}
        ${field("repeated", "New password again", "new-password")}
        <button type="submit">Change the password</button>
      </form>
      <p><a href="/account">Keep the current one</a></p>`,
  });
}
