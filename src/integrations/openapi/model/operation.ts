import type { JsonValue } from "../../../json.ts";
import type { UpstreamRateLimit } from "../../upstream-rate-limiter.ts";
import type { ToolDefinition } from "../../tool.ts";

/** Where an argument goes in the request and how it is written there (OpenAPI «Parameter Object»). */
export interface ParameterPlan {
  /** The tool's argument. */
  readonly property: string;
  /** The name on the wire. */
  readonly name: string;
  readonly location: "path" | "query" | "header" | "cookie";
  readonly style: string;
  readonly explode: boolean;
  readonly allowReserved: boolean;
  /** The value is one JSON text (`content: application/json`) instead of a style. */
  readonly asJson: boolean;
  /** Sent whatever the arguments are: the contract allows nothing else, so it is no argument. */
  readonly constant?: JsonValue;
}

/** How a form field or a part of a multipart body is written (OpenAPI «Encoding Object»). */
export interface FieldPlan {
  /** The name on the wire. */
  readonly name: string;
  readonly style: string;
  readonly explode: boolean;
  readonly contentType: string | undefined;
  /** The argument is a file, given as FILE_SCHEMA says. */
  readonly isFile: boolean;
}

/** How the request's body is made of the arguments. */
export interface BodyPlan {
  readonly contentType: string;
  readonly kind: "json" | "form" | "multipart" | "text" | "binary";
  /** The argument that is all of the body, or undefined when the body's properties are arguments: then `fields` has them. */
  readonly argument: string | undefined;
  /** Argument → field. */
  readonly fields: ReadonlyMap<string, FieldPlan>;
  /** Arguments that nobody else claims are fields of the body too, under their own names. */
  readonly isOpen: boolean;
}

/** A credential's place in the request. Templates such as `{api_token}` are filled from the configuration. */
export type CredentialPlan =
  | { readonly kind: "header" | "query" | "cookie"; readonly name: string; readonly value: string }
  | { readonly kind: "basic"; readonly username: string; readonly password: string }
  | { readonly kind: "bearer"; readonly token: string; readonly oauth?: OAuthScheme }
  | ClientCredentialsPlan
  | OwnerPlan;

/** What a bearer token's scheme says about where such tokens are got. */
export interface OAuthScheme {
  /** Of the client credentials flow, as the document gives it; undefined where it has no such flow. */
  readonly tokenUrl: string | undefined;
}

/** A bearer token that the owner's login brought. */
export interface OwnerPlan {
  readonly kind: "owner";
}

/** A bearer token that is got by the client credentials grant (RFC 6749 §4.4). */
export interface ClientCredentialsPlan {
  readonly kind: "client_credentials";
  /** The token endpoint. */
  readonly server: ServerPlan;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scope: string | undefined;
  readonly authentication: "basic" | "post";
}

/** Characters of a server's address, filled or not. */
export const MAX_SERVER_URL_LENGTH = 2_048;

/** A server's address as the document gives it, with `{variables}`. */
export interface ServerPlan {
  readonly url: string;
  /** Values for variables that the configuration does not have. */
  readonly defaults: ReadonlyMap<string, string>;
}

/** One operation of a document, ready to be called. */
export interface Operation {
  readonly tool: ToolDefinition;
  /** Upper case. */
  readonly method: string;
  /** The path template, such as `/employees/{id}`. */
  readonly path: string;
  readonly server: ServerPlan;
  readonly parameters: readonly ParameterPlan[];
  readonly body: BodyPlan | undefined;
  /** The `Accept` header: what its answers are said to be, JSON first. */
  readonly accept: string;
  /** What to send for the first security requirement that can be met; empty when none is asked for. */
  readonly credentials: readonly CredentialPlan[];
  /** How often it may be called; the limits of its document first. */
  readonly rateLimits?: readonly UpstreamRateLimit[];
  /** The names of the schemes in each of its security requirements; undefined where the document says nothing about it. */
  readonly requirements?: readonly (readonly string[])[] | undefined;
}
