import type { components } from "../../../gen/openapi/patchbay.ts";

/** The schemas of the HTTP contract by name. */
export type Schemas = components["schemas"];

/** A request as the console sends it. The service accepts `null` for absent fields; the console omits them. */
export type Sent<Name extends keyof Schemas> = {
  [Key in keyof Schemas[Name]]: Exclude<Schemas[Name][Key], null>;
};

/** A scope. */
export type ConsoleScope = Schemas["CreateOAuthClientRequest"]["scopes"][number];
