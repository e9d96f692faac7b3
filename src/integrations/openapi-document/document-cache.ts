import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { OpenApiError } from "../openapi/model/document.ts";
import type { Operation } from "../openapi/model/operation.ts";
import type { ToolDefinition } from "../tool.ts";
import type { ConvertedDocument } from "./convert.ts";
import type { DocumentConverter } from "./converter.ts";
import { DocumentFailure } from "./document-failure.ts";

/** A converted document, shared by its connections. */
export interface LoadedDocument {
  readonly digest: string;
  readonly title: string;
  /** Sorted by name. The same array while the document is in memory. */
  readonly tools: readonly ToolDefinition[];
  readonly operations: ReadonlyMap<string, Operation>;
  readonly schemes: ConvertedDocument["schemes"];
}

/** Converted documents by the digest of their text. */
export interface DocumentCache {
  /** Returns the document with this digest and converts `text` if needed. Throws DocumentFailure `unusable`. */
  load(tenant: string, digest: string, text: () => Promise<string>): Promise<LoadedDocument>;
}

/** Total characters of the cached documents. GitHub's has 13 million and takes 30 MB of memory. */
const MAX_CHARACTERS = 60_000_000;

export function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** Bounded by size; concurrent callers share a conversion. */
export function createDocumentCache(converter: DocumentConverter): DocumentCache {
  const loaded = new LRUCache<string, LoadedDocument>({ maxSize: MAX_CHARACTERS });
  const loading = new Map<string, Promise<LoadedDocument>>();

  async function convert(tenant: string, digest: string, text: string): Promise<LoadedDocument> {
    try {
      const { title, operations, schemes } = await converter.convert(tenant, text);
      const sorted = operations.toSorted((a, b) => (a.tool.name < b.tool.name ? -1 : 1));
      const document: LoadedDocument = {
        digest,
        title,
        tools: sorted.map(({ tool }) => tool),
        operations: new Map(sorted.map((operation) => [operation.tool.name, operation])),
        schemes,
      };
      loaded.set(digest, document, { size: Math.max(1, text.length) });
      return document;
    } catch (error) {
      if (error instanceof OpenApiError)
        throw new DocumentFailure("unusable", `The document cannot be used: it ${error.message}.`, error);
      throw error;
    }
  }

  return {
    load(tenant, digest, text) {
      const known = loaded.get(digest);
      if (known !== undefined) return Promise.resolve(known);
      const running = loading.get(digest);
      if (running !== undefined) return running;
      const started = text()
        .then((found) => convert(tenant, digest, found))
        .finally(() => loading.delete(digest));
      loading.set(digest, started);
      return started;
    },
  };
}
