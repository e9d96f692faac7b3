import { html, type Html } from "../html.ts";

export function logoutForm(csrfField: Html): Html {
  return html`<form method="post" action="/logout">
    ${csrfField}
    <button type="submit" class="secondary">Log out</button>
  </form>`;
}
