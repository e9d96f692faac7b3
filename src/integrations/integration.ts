import type { JsonObject } from "../json.ts";
import type { CallOptions, Target } from "./target.ts";
import type { Features, UpstreamNotification } from "./features.ts";
import type { OwnerAuthorization } from "./authorization.ts";
import type { CallResult, ToolDefinition } from "./tool.ts";

/**
 * The result of a verification. A reason with `verified` says what cannot be used although the key is valid. `retry`
 * means that the key could not be checked; `needs_authorization` means that the owner must log in.
 */
export type Verification =
  | { readonly outcome: "verified"; readonly reason?: string }
  | { readonly outcome: "failed"; readonly reason: string }
  | { readonly outcome: "needs_authorization"; readonly reason: string }
  | { readonly outcome: "retry"; readonly reason: string };

export interface ToolChange {
  readonly changedAt: Date;
  /** Sorted names. */
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** Tools whose definitions differ before and after. */
  readonly changed: readonly string[];
}

/** Authorizes connections of every account with the operator's client; nobody logs in. */
export interface ClientAuthorization {
  /** Throws DomainError `invalid` when the configuration names another address than the contract's. */
  checkDestination(configuration: JsonObject): void;
}

/** A kind of upstream (`server_type` on the wire). One object serves all its connections. */
export interface Integration {
  /** The wire name, such as `bamboohr`. */
  readonly serverType: string;
  /** The display name, and the default name of a connection. */
  readonly title: string;
  readonly description: string;
  /** The product category, such as `hr`. */
  readonly category?: string | undefined;
  /** The vendor's API documentation. */
  readonly documentationUrl?: string | undefined;
  /** The number of tools, if every connection has the same number. */
  readonly toolCount?: number | undefined;
  /** JSON Schema, Draft 7, of `configuration`, with `additionalProperties: false`. Secrets carry `writeOnly: true`. */
  readonly configurationSchema: JsonObject;
  /** Secret properties: sealed at rest, never returned. */
  readonly secretProperties: readonly string[];
  /** The secret that `api_key` replaces. Undefined for an integration without a credential. */
  readonly credentialProperty: string | undefined;
  /** Properties that decide where secrets are sent. Changing one requires the credential again. */
  readonly destinationProperties: readonly string[];
  /** A property that may hold a whole document; it does not count towards the configuration's size limit. */
  readonly documentProperty?: string;
  /**
   * Stores large shared parts of a configuration and replaces them with references. A supplied reference must belong
   * to a connection of the account. Throws DomainError `invalid`.
   */
  adoptConfiguration?(configuration: JsonObject, accountId: string): Promise<JsonObject>;
  /** Checks rules that JSON Schema cannot express. Throws DomainError `invalid` naming the property. */
  checkConfiguration?(configuration: JsonObject): void;
  /**
   * Where tools come from: the contract (`fixed`), each connection's upstream (`per_connection`), or the
   * configuration without its secrets (`shared`). Equal shared configurations get the same array.
   */
  readonly toolSource: "fixed" | "per_connection" | "shared";
  /** Changes of `shared` tools, newest first. */
  toolChanges?(configuration: JsonObject, limit: number): Promise<readonly ToolChange[]>;
  /**
   * Returns all tools sorted by name, from memory for `fixed`. Throws DomainError `unavailable` when the upstream
   * cannot be reached.
   */
  listTools(target: Target, options: CallOptions): Promise<readonly ToolDefinition[]>;
  /** Restores what storage does not keep of a tool, such as the order of keys. */
  restoreTool?(stored: ToolDefinition): ToolDefinition;
  /**
   * Calls a tool with validated arguments. Upstream failures are results with `isError`; throws only for internal
   * errors and for `options.signal`.
   */
  callTool(target: Target, tool: ToolDefinition, args: JsonObject, options: CallOptions): Promise<CallResult>;
  /** Makes one real call to check the credential. Never throws for upstream failures. */
  verify(target: Target, options: CallOptions): Promise<Verification>;
  /** Registers a listener for upstream notifications that arrive during calls. The listener must not throw. */
  onNotification?(listener: (connectionId: number, notification: UpstreamNotification) => void): void;
  /** Owner authorization, where the upstream supports it. */
  readonly authorization?: OwnerAuthorization;
  /** Authorization with the operator's client, where one is configured. */
  readonly clientAuthorization?: ClientAuthorization;
  /** Set when OAuth is possible but the operator has not configured a client (`INTEGRATION_OAUTH_CLIENTS`). */
  readonly lacksClient?: true;
  readonly features?: Features;
  /** Discards in-memory state of a connection (upstream sessions, tokens). */
  forget?(connectionId: number): void;
}

/** Integrations by `serverType`. */
export type Catalog = ReadonlyMap<string, Integration>;
