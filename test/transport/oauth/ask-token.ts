import type { CreatedClient } from "../../../src/identity/clients/clients.ts";
import { basic, type Installation } from "./installation.ts";

/** Content type of a token request. */
export const FORM = "application/x-www-form-urlencoded";

/** Response of the token endpoint. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
}

/** Returns a client_credentials form with additional parameters appended. */
export function grant(rest = ""): string {
  return `grant_type=client_credentials${rest}`;
}

/** Posts a form to the token endpoint with the client's credentials. */
export async function askToken(
  { issuer }: Installation,
  client: CreatedClient,
  form: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const response = await fetch(`${issuer}/oauth2/token`, {
    method: "POST",
    body: form,
    headers: { authorization: basic(client), "content-type": FORM, ...headers },
  });
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Record<string, unknown>,
  };
}
