import { html, type Html } from "./html.ts";
import { errorSummary, renderPage } from "./page.ts";

/** A connection that can be chosen. */
export interface ConnectionChoice {
  readonly id: number;
  readonly name: string;
  /** The integration's title. */
  readonly kind: string;
  readonly isChosen: boolean;
}

export interface ConsentPage {
  /** The path that the form submits to. */
  readonly action: string;
  /** The hidden CSRF field. */
  readonly csrfField: Html;
  /** The authorization request, repeated in the form. */
  readonly request: string;
  /** Who decides. */
  readonly email: string;
  /** The accounts that the person can act for. */
  readonly accounts: readonly {
    readonly id: string;
    readonly label: string;
    /** Whether the page shows its connections. */
    readonly isShown: boolean;
  }[];
  readonly client: {
    /** The name the client gave itself. */
    readonly name: string;
    /** How its identity was established. */
    readonly origin: string;
  };
  readonly redirect: {
    /** The host, or the application's scheme. */
    readonly host: string;
    /** A warning if the address does not identify the recipient. */
    readonly warning: string | undefined;
  };
  readonly scopes: readonly string[];
  /** The requested connection. Undefined if the person chooses. */
  readonly onlyConnection: string | undefined;
  readonly connections: readonly ConnectionChoice[];
  readonly error?: string;
}

function connectionChoices({ connections, onlyConnection }: ConsentPage): Html {
  if (onlyConnection !== undefined)
    return html`<h2>Only this connection</h2>
      <p>${onlyConnection}</p>`;
  if (connections.length === 0) {
    return html`<h2>On your connections</h2>
      <p>You have none yet. What you connect later is included.</p>
      <input type="hidden" name="reach" value="all" />`;
  }
  const hasChosen = connections.some(({ isChosen }) => isChosen);
  const [all, chosen] = hasChosen ? [undefined, html` checked`] : [html` checked`, undefined];
  return html`<fieldset>
      <legend>On which connections</legend>
      <label class="choice"
        ><input type="radio" name="reach" value="all" ${all} /> All of them, also those that I add later</label
      >
      <label class="choice"><input type="radio" name="reach" value="chosen" ${chosen} /> Only those ticked here</label>
    </fieldset>
    <fieldset class="choices">
      <legend>Connections</legend>
      ${connections.map(
        ({ id, name, kind, isChosen }) =>
          html`<label class="choice"
            ><input type="checkbox" name="connection" value="${id}" ${isChosen ? html` checked` : undefined} />
            <span>${name} <span class="hint">${kind}</span></span></label
          >`,
      )}
    </fieldset>`;
}

function accountChoice({ accounts }: ConsentPage): Html | undefined {
  if (accounts.length < 2) return undefined;
  return html`<h2>For which account</h2>
    <p>
      <label for="account">Act for</label>
      <select id="account" name="account">
        ${accounts.map(
          ({ id, label, isShown }) =>
            html`<option value="${id}" ${isShown ? html` selected` : undefined}>${label}</option>`,
        )}
      </select>
      <button type="submit" name="decision" value="switch" class="secondary">Show its connections</button>
    </p>`;
}

/** The page on which a person grants or denies a client access. */
export function consentPage(page: ConsentPage): string {
  const { action, csrfField, request, email, client, redirect, scopes, error } = page;
  return renderPage({
    title: error === undefined ? `Allow ${client.name}?` : `Error: allow ${client.name}?`,
    body: html`<h1>Allow “${client.name}” to act for you?</h1>
      ${errorSummary(error)}
      <p>${client.origin}</p>
      <p>You will be sent to <strong>${redirect.host}</strong>.</p>
      ${redirect.warning === undefined ? undefined : html`<p class="notice">${redirect.warning}</p>`}
      <form method="post" action="${action}">
        ${csrfField}
        <input type="hidden" name="request" value="${request}" />
        <h2>It will be able to</h2>
        <ul>
          ${scopes.map((scope) => html`<li>${scope}</li>`)}
        </ul>
        ${accountChoice(page)} ${connectionChoices(page)}
        <button type="submit" name="decision" value="approve">Allow</button>
        <button type="submit" name="decision" value="deny" class="secondary">Do not allow</button>
      </form>
      <p class="hint">You are logged in as ${email}. You can take this back at any time.</p>`,
  });
}
