import type { JsonObject } from "../../src/json.ts";

/** The data for testing the access rules of an operation. */
export interface Trial {
  /** Scopes that are not sufficient; `forged` for an operation that every grantable scope opens. */
  readonly wrongScopes: string;
  /** A request that would succeed for the owner. */
  readonly request: (theirs: Theirs) => {
    readonly input: JsonObject;
    readonly headers?: Readonly<Record<string, string>>;
  };
  /** Whether the request names an object of another account. */
  readonly namesSomething: boolean;
}

/** Objects of another account. */
export interface Theirs {
  readonly connection: string;
  readonly session: string;
  readonly client: string;
  readonly token: string;
  readonly grant: string;
  readonly organization: string;
  readonly owner: string;
  readonly webhook: string;
  readonly delivery: string;
}
