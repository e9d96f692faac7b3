import type { JsonObject, JsonValue } from "../json.ts";
import type { ClientIdentity, InputRequired } from "./relayed-client.ts";
import type { CallOptions, Target } from "./target.ts";

/** The implementation info and instructions of a server. */
export interface ServerIntroduction {
  /** MCP's `Implementation`: name, version, title, icons, website. */
  readonly info: JsonObject | undefined;
  readonly instructions: string | undefined;
}

/** The resources, resource templates, prompts and skills of an upstream, and its info and instructions. */
export interface FeatureListing {
  readonly server: ServerIntroduction;
  readonly capabilities: {
    readonly resources: boolean;
    /** Whether the server notifies about changes of a resource. */
    readonly subscribe: boolean;
    readonly prompts: boolean;
    readonly completions: boolean;
    readonly logging: boolean;
    /** Whether the server notifies about changes of its lists, tools included. */
    readonly listChanged: boolean;
    /** The declared extensions that the service passes on, by identifier. */
    readonly extensions: JsonObject;
  };
  /** Unique by `uri`. */
  readonly resources: readonly ListedFeature[];
  /** Unique by `uriTemplate`. */
  readonly resourceTemplates: readonly ListedFeature[];
  /** Unique by `name`. */
  readonly prompts: readonly ListedFeature[];
  /** Unique by `uri`. */
  readonly skills: readonly ListedFeature[];
  /** A description of each list that was cut at a limit. */
  readonly truncated: readonly string[];
  /** The upstream's time to live of the lists in milliseconds, if it states one. */
  readonly ttlMs: number | undefined;
  /** Approximate memory use. */
  readonly bytes: number;
}

export interface ListedFeature {
  /** The value of `uri`, `uriTemplate` or `name`. */
  readonly key: string;
  /** The item as the server wrote it, without fields that would make clients reject the whole list. */
  readonly json: string;
}

/** An MCP request that may be repeated: it only reads, or repeating it has no further effect. */
export type FeatureRequest =
  | { readonly method: "resources/read"; readonly uri: string }
  | SubscribeRequest
  | { readonly method: "prompts/get"; readonly name: string; readonly args: JsonObject | undefined }
  | { readonly method: "completion/complete"; readonly params: JsonObject }
  | SkillRequest
  | TaskRequest;

/** A request of the skills extension. */
export type SkillRequest =
  | { readonly method: "skills/get"; readonly uri: string }
  | { readonly method: "resources/directory/read"; readonly uri: string; readonly cursor: string | undefined };

/** Subscribes the session of the client's calls. A server without sessions is not asked: `watch` subscribes there. */
export interface SubscribeRequest {
  readonly method: "resources/subscribe";
  readonly uri: string;
}

/** A request about a task, by the upstream's id. */
export type TaskRequest =
  | { readonly method: "tasks/get" | "tasks/cancel"; readonly taskId: string }
  | { readonly method: "tasks/update"; readonly taskId: string; readonly inputResponses: JsonObject };

/** A result without fields specific to a protocol revision, or the upstream's error. */
export type FeatureAnswer =
  | {
      readonly kind: "result";
      /** The result as the server wrote it. */
      readonly json: string;
      /**
       * How long clients may cache the result, or how long the server keeps the task, in milliseconds, if the server
       * says so.
       */
      readonly ttlMs: number | undefined;
    }
  | { readonly kind: "input_required"; readonly required: InputRequired }
  | { readonly kind: "error"; readonly code: number; readonly message: string; readonly data: JsonValue | undefined };

/** A notification that belongs to no request. */
export type UpstreamNotification =
  | { readonly kind: "updated"; readonly uri: string }
  | { readonly kind: "list_changed"; readonly list: "tools" | "resources" | "prompts" };

/**
 * MCP features besides tools. Methods throw DomainError `unavailable` when the upstream cannot be reached, or the
 * signal's reason.
 */
export interface Features {
  /** Lists all pages of all features. */
  listFeatures(target: Target, options: CallOptions): Promise<FeatureListing>;
  request(target: Target, request: FeatureRequest, options: CallOptions): Promise<FeatureAnswer>;
  /**
   * Calls the listener about changes of the lists until stopped. Reconnects; notifications sent while disconnected are
   * lost. Listens in the session of tool calls, since some servers notify only that session. Never throws.
   */
  watchLists(target: Target, listener: (notification: UpstreamNotification) => void): () => void;
  /** Subscribes to resources, in the session of the client's calls, and reports their changes in the same way. */
  watchResources(
    target: Target,
    uris: readonly string[],
    client: ClientIdentity | undefined,
    listener: (uri: string) => void,
  ): ResourceWatch;
}

/** Subscriptions to resources of one upstream. */
export interface ResourceWatch {
  /** Resolves when the upstream has accepted the subscriptions, or the first attempt has failed. Never rejects. */
  readonly settled: Promise<void>;
  stop(): void;
}
