import type { JsonObject } from "../json.ts";
import type { CallOptions, Target } from "./target.ts";
import type { Features, UpstreamNotification } from "./features.ts";
import type { OwnerAuthorization } from "./authorization.ts";
import type { CallResult, ToolDefinition } from "./tool.ts";

/**
 * What a verification saw. `retry` means that the answer says nothing about the key, `needs_authorization` that its owner
 * has to log in at the third party.
 */
export type Verification =
  | { readonly outcome: "verified" }
  | { readonly outcome: "failed"; readonly reason: string }
  | { readonly outcome: "needs_authorization"; readonly reason: string }
  | { readonly outcome: "retry"; readonly reason: string };

/** How the tools of an upstream changed. */
export interface ToolChange {
  readonly changedAt: Date;
  /** Names, sorted. */
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** Those that are there before and after, and are others. */
  readonly changed: readonly string[];
}

/** How a client of the operator's authorises connections of every account; nobody logs in. */
export interface ClientAuthorization {
  /** Throws DomainError `invalid` for a configuration that names an address where that client does not go. */
  checkDestination(configuration: JsonObject): void;
}

/** A kind of third party (`server_type` on the wire). One object serves every connection of that kind. */
export interface Integration {
  /** The word on the wire, such as `bamboohr`. */
  readonly serverType: string;
  /** The name people know it by; a new connection's default name. */
  readonly title: string;
  readonly description: string;
  /** What kind of product it is, such as `hr`. */
  readonly category?: string | undefined;
  /** Where people read about its API. */
  readonly documentationUrl?: string | undefined;
  /** How many tools a connection has, where that is the same for all. */
  readonly toolCount?: number | undefined;
  /** JSON Schema, Draft 7, of `configuration`, with `additionalProperties: false`. Secrets carry `writeOnly: true`. */
  readonly configurationSchema: JsonObject;
  /** The names of the secret properties, sealed at rest and never returned. */
  readonly secretProperties: readonly string[];
  /** The secret that `api_key` replaces. Undefined for an integration without a credential. */
  readonly credentialProperty: string | undefined;
  /** The properties that decide where secrets are sent: changing one must bring the credential again. */
  readonly destinationProperties: readonly string[];
  /** A property that may hold a whole document: it does not count towards the size of a configuration. */
  readonly documentProperty?: string;
  /**
   * Stores what of a supplied configuration is shared and large, and puts a reference in its place. A supplied reference must
   * be one that a connection of the account uses. Throws DomainError `invalid`.
   */
  adoptConfiguration?(configuration: JsonObject, accountId: string): Promise<JsonObject>;
  /** Rules that JSON Schema cannot say. Throws DomainError `invalid` naming the property. */
  checkConfiguration?(configuration: JsonObject): void;
  /**
   * Where the tools come from: the contract (`fixed`), each connection's upstream (`per_connection`), or what the
   * configuration without its secrets names (`shared`): connections that name the same get the same array.
   */
  readonly toolSource: "fixed" | "per_connection" | "shared";
  /** How the tools changed for `shared` ones, newest first. */
  toolChanges?(configuration: JsonObject, limit: number): Promise<readonly ToolChange[]>;
  /** Every tool, by name. For `fixed` it answers from memory. Throws DomainError `unavailable` when the upstream cannot be asked. */
  listTools(target: Target, options: CallOptions): Promise<readonly ToolDefinition[]>;
  /**
   * Calls a tool with arguments already validated against its schema.
   * Upstream failures are results with `isError`; throws only for faults of ours and for `options.signal`.
   */
  callTool(target: Target, tool: ToolDefinition, args: JsonObject, options: CallOptions): Promise<CallResult>;
  /** One real call that tells whether the credential works. Never throws for what the upstream does. */
  verify(target: Target, options: CallOptions): Promise<Verification>;
  /** Has `hear` told what upstreams say of themselves while they answer calls. Must not throw. */
  onNotification?(listener: (connectionId: number, notification: UpstreamNotification) => void): void;
  /** How its owner authorises a connection by logging in at the third party, where that is possible. */
  readonly authorization?: OwnerAuthorization;
  /** How the operator's client authorises a connection instead, where there is one. */
  readonly clientAuthorization?: ClientAuthorization;
  /** Set where there is a way by OAuth that the operator has not configured a client for (`INTEGRATION_OAUTH_CLIENTS`). */
  readonly lacksClient?: true;
  /** What it offers beyond tools, where it does. */
  readonly features?: Features;
  /** Forgets what is kept for a connection in memory (upstream sessions, tokens). */
  forget?(connectionId: number): void;
}

/** The integrations that can be connected to, by `serverType`. */
export type Catalog = ReadonlyMap<string, Integration>;
