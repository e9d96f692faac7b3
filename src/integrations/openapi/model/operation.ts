import type { JsonValue } from "../../../json.ts";
import type { UpstreamRateLimit } from "../../upstream-rate-limiter.ts";
import type { ToolDefinition } from "../../tool.ts";

/** How an argument is sent (OpenAPI «Parameter Object»). */
export interface ParameterPlan {
  /** The tool's argument. */
  readonly property: string;
  /** The name on the wire. */
  readonly name: string;
  readonly location: "path" | "query" | "header" | "cookie";
  readonly style: string;
  readonly explode: boolean;
  readonly allowReserved: boolean;
  /** The value is one JSON text (`content: application/json`). */
  readonly asJson: boolean;
  /** Always sent; the contract allows no other value. */
  readonly constant?: JsonValue;
}

/** How a form field or multipart part is sent (OpenAPI «Encoding Object»). */
export interface FieldPlan {
  /** The name on the wire. */
  readonly name: string;
  readonly style: string;
  readonly explode: boolean;
  readonly contentType: string | undefined;
  /** The argument is a file as in FILE_SCHEMA. */
  readonly isFile: boolean;
}

export interface BodyPlan {
  readonly contentType: string;
  readonly kind: "json" | "form" | "multipart" | "text" | "binary";
  /** The argument that is the whole body; undefined when `fields` maps properties to arguments. */
  readonly argument: string | undefined;
  /** Argument → field. */
  readonly fields: ReadonlyMap<string, FieldPlan>;
  /** Undeclared arguments are sent as body fields under their own names. */
  readonly isOpen: boolean;
}

/** A credential in the request. Templates such as `{api_token}` are filled from the configuration. */
export type CredentialPlan =
  | { readonly kind: "header" | "query" | "cookie"; readonly name: string; readonly value: string }
  | { readonly kind: "basic"; readonly username: string; readonly password: string }
  | { readonly kind: "bearer"; readonly token: string; readonly oauth?: OAuthScheme }
  | ClientCredentialsPlan
  | OwnerPlan;

export interface OAuthScheme {
  /** The token endpoint of the client credentials flow, if there is one. */
  readonly tokenUrl: string | undefined;
}

/** A bearer token of the owner's login or the operator's client. */
export interface OwnerPlan {
  readonly kind: "owner";
}

/** A bearer token from the client credentials grant (RFC 6749 §4.4). */
export interface ClientCredentialsPlan {
  readonly kind: "client_credentials";
  /** The token endpoint. */
  readonly server: ServerPlan;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scope: string | undefined;
  readonly authentication: "basic" | "post";
}

/** Maximum length of a server URL in characters, before and after its variables are filled. */
export const MAX_SERVER_URL_LENGTH = 2_048;

/** A server URL with `{variables}`. */
export interface ServerPlan {
  readonly url: string;
  /** Values for variables that the configuration does not have. */
  readonly defaults: ReadonlyMap<string, string>;
}

export interface Operation {
  readonly tool: ToolDefinition;
  /** Upper case. */
  readonly method: string;
  /** The path template, such as `/employees/{id}`. */
  readonly path: string;
  readonly server: ServerPlan;
  readonly parameters: readonly ParameterPlan[];
  readonly body: BodyPlan | undefined;
  /** The `Accept` header, JSON first. */
  readonly accept: string;
  /** Credentials of the first security requirement that can be met. */
  readonly credentials: readonly CredentialPlan[];
  /** Limits of the whole document come first. */
  readonly rateLimits?: readonly UpstreamRateLimit[];
  /** Scheme names of each security requirement; undefined when the document states none. */
  readonly requirements?: readonly (readonly string[])[] | undefined;
}
