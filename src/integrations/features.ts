import type { JsonObject, JsonValue } from "../json.ts";
import type { CallOptions, Target } from "./target.ts";

/** What one upstream offers beyond tools. Items are MCP's, with the fields that have the type they must have. */
export interface FeatureListing {
  /** Which of MCP's features it declares. */
  readonly capabilities: {
    readonly resources: boolean;
    /** Whether it tells of changes of a resource. */
    readonly subscribe: boolean;
    readonly prompts: boolean;
    readonly completions: boolean;
    readonly logging: boolean;
    /** Whether it tells of changes of its lists, that of its tools included. */
    readonly listChanged: boolean;
  };
  /** Each with a `uri` that no other has. */
  readonly resources: readonly ListedFeature[];
  /** Each with a `uriTemplate` that no other has. */
  readonly resourceTemplates: readonly ListedFeature[];
  /** Each with a `name` that no other has. */
  readonly prompts: readonly ListedFeature[];
  /** Roughly what keeping it costs. */
  readonly bytes: number;
}

/** One item of a list as its upstream gives it. */
export interface ListedFeature {
  /** What it goes by: `uri`, `uriTemplate` or `name`. */
  readonly key: string;
  readonly item: JsonObject;
}

/** A request of MCP that only reads. */
export type FeatureRequest =
  | { readonly method: "resources/read"; readonly uri: string }
  | { readonly method: "prompts/get"; readonly name: string; readonly args: JsonObject | undefined }
  | { readonly method: "completion/complete"; readonly params: JsonObject };

/** What an upstream answered: a result without what belongs to its revision alone, or an error in its own words. */
export type FeatureAnswer =
  | { readonly kind: "result"; readonly result: JsonObject }
  | { readonly kind: "error"; readonly code: number; readonly message: string; readonly data: JsonValue | undefined };

/** What an upstream says of itself outside any request. */
export type UpstreamNotification =
  | { readonly kind: "updated"; readonly uri: string }
  | { readonly kind: "list_changed"; readonly list: "tools" | "resources" | "prompts" };

/** What an integration offers beyond tools. Every method throws DomainError `unavailable` when the upstream cannot be asked, or the signal's reason. */
export interface Features {
  /** Everything that is offered, all pages. */
  listFeatures(target: Target, options: CallOptions): Promise<FeatureListing>;
  /** Asks and awaits the answer. */
  request(target: Target, request: FeatureRequest, options: CallOptions): Promise<FeatureAnswer>;
  /**
   * Hears of changes of these resources and of the lists until stopped, over lost connections; what is missed meanwhile is
   * not told. Without URIs it listens in the session that tools are called in, which some servers change by calls. Never throws.
   */
  watch(target: Target, uris: readonly string[], listener: (notification: UpstreamNotification) => void): () => void;
}
