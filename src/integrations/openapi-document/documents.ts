import { LRUCache } from "lru-cache";
import type { Dispatcher } from "undici";
import { atMost } from "../../at-most.ts";
import type { JsonObject } from "../../json.ts";
import { orAborted } from "../or-aborted.ts";
import type { Operation } from "../openapi/model/operation.ts";
import type { ToolDefinition } from "../tool.ts";
import { digestIn, textIn } from "./configuration.ts";
import { createDocumentCache, digestOf, type LoadedDocument } from "./document-cache.ts";
import { DocumentFailure, documentNotStored } from "./document-failure.ts";
import type { DocumentChange, DocumentSource, DocumentStore } from "./document-store.ts";
import type { DocumentConverter } from "./converter.ts";
import { fetchDocument } from "./fetch-document.ts";

export interface OpenApiDocumentsDeps {
  readonly store: DocumentStore;
  /** The guarded dispatcher. */
  readonly dispatcher: Dispatcher;
  readonly converter: DocumentConverter;
  readonly log: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
}

/** Loads the documents of connections; connections share them by text and URL. */
export interface Documents {
  /** Loads the document that a configuration names. A trial stores nothing. Throws DocumentFailure. */
  of(accountId: string, configuration: JsonObject, signal: AbortSignal, isTrial: boolean): Promise<LoadedDocument>;
  /** Converts and stores an inline document and returns its digest. Throws DocumentFailure `unusable`. */
  adopt(accountId: string, text: string): Promise<string>;
  /**
   * Returns the operation of a tool's accepted definition, even when the document has changed since. Undefined if the
   * definition was never accepted or stored.
   */
  operationOf(document: LoadedDocument, tool: ToolDefinition): Operation | undefined | Promise<Operation | undefined>;
  /** Whether a connection of this account uses the document. */
  isUsedBy(accountId: string, digest: string): Promise<boolean>;
  /**
   * Fetches due URLs, each on one replica, and purges unused documents now and then. `onChanged` is called for URLs
   * whose tools changed.
   */
  maintain(onChanged?: (url: string) => Promise<void>): Promise<void>;
  /** Rereads sources from the database after a change on another replica. */
  forgetSources(): void;
}

/** Seconds between fetches of a URL, with jitter. */
const REFRESH_SECONDS = 6 * 3_600;
/** Seconds before retrying a failed fetch. */
const RETRY_SECONDS = 900;
/** Milliseconds that a source is cached. */
const SOURCE_FRESH_MS = 10_000;
/** Milliseconds between records of use, per document and replica. */
const TOUCH_MS = 3_600_000;
const MAX_SOURCES = 10_000;
const MAX_SUPERSEDED = 2_000;
const REFRESH_BATCH = 5;
/** The queue's tenant for refreshes, which belong to no account. */
const REFRESH = "refresh";
const PURGE_MS = 3_600_000;

export function createDocuments(deps: OpenApiDocumentsDeps): Documents {
  const { store, log } = deps;
  const cache = createDocumentCache(deps.converter);
  const sources = new LRUCache<string, { readonly digest: string }>({ ...atMost(MAX_SOURCES), ttl: SOURCE_FRESH_MS });
  const failures = new LRUCache<string, DocumentFailure>({ ...atMost(MAX_SOURCES), ttl: SOURCE_FRESH_MS });
  const touched = new LRUCache<string, true>({ ...atMost(MAX_SOURCES), ttl: TOUCH_MS });
  /** Accepted operations that are no longer in their document. */
  const superseded = new LRUCache<string, Operation>(atMost(MAX_SUPERSEDED));
  const fetching = new Map<string, Promise<LoadedDocument>>();

  let nextPurgeMs = 0;

  function touch(digest: string, url: string | undefined): void {
    const key = url ?? digest;
    if (touched.has(key)) return;
    touched.set(key, true);
    store.touch(digest, url).catch((error: unknown) => {
      touched.delete(key);
      log.warn({ err: error }, "could not record the use of a document");
    });
  }

  function stored(accountId: string, digest: string): Promise<LoadedDocument> {
    return cache.load(accountId, digest, async () => {
      const found = await store.find(digest);
      if (found !== undefined) return found.text;
      throw documentNotStored();
    });
  }

  /** Concurrent callers share the first fetch of a URL. */
  function fetchFirst(accountId: string, url: string, isTrial: boolean): Promise<LoadedDocument> {
    const key = `${isTrial} ${url}`;
    const running = fetching.get(key);
    if (running !== undefined) return running;
    // An independent signal: the first caller may abort while others wait.
    const started = load(accountId, url, isTrial)
      .catch((error: unknown) => {
        if (error instanceof DocumentFailure) failures.set(url, error);
        throw error;
      })
      .finally(() => fetching.delete(key));
    fetching.set(key, started);
    return started;
  }

  async function load(accountId: string, url: string, isTrial: boolean): Promise<LoadedDocument> {
    const answer = await fetchDocument(deps.dispatcher, url, undefined, new AbortController().signal);
    if (answer === "unchanged")
      throw new DocumentFailure("unreachable", "spec_url answers 304 without being asked to.");
    const { text, digest, etag } = answer;
    const document = await cache.load(accountId, digest, () => Promise.resolve(text));
    if (isTrial) return document;
    await store.save({ digest, text, toolNames: document.tools.map(({ name }) => name) });
    const source = await store.addSource({ url, digest, etag }, jittered(REFRESH_SECONDS));
    sources.set(url, { digest: source.digest });
    return source.digest === digest ? document : stored(accountId, source.digest);
  }

  async function loadFromAddress(accountId: string, url: string, isTrial: boolean): Promise<LoadedDocument> {
    const known = sources.get(url) ?? (await store.findSource(url));
    if (known !== undefined) {
      sources.set(url, { digest: known.digest });
      if (!isTrial) touch(known.digest, url);
      return stored(accountId, known.digest);
    }
    const failure = failures.get(url);
    if (failure !== undefined) throw failure;
    return fetchFirst(accountId, url, isTrial);
  }

  /** An unreadable earlier document has no operations left to keep. */
  async function operationsBefore(digest: string): Promise<Operations> {
    try {
      return (await stored(REFRESH, digest)).operations;
    } catch (error) {
      if (error instanceof DocumentFailure) return new Map();
      throw error;
    }
  }

  async function refresh(source: DocumentSource, onChanged?: (url: string) => Promise<void>): Promise<void> {
    const { url } = source;
    try {
      const answer = await fetchDocument(deps.dispatcher, url, source.etag, new AbortController().signal);
      const fresh = answer === "unchanged" ? source : { url, digest: answer.digest, etag: answer.etag };
      if (answer === "unchanged" || fresh.digest === source.digest) {
        await store.saveSource(fresh, jittered(REFRESH_SECONDS));
        return;
      }
      const document = await cache.load(REFRESH, fresh.digest, () => Promise.resolve(answer.text));
      const toolNames = document.tools.map(({ name }) => name);
      await store.save({ digest: fresh.digest, text: answer.text, toolNames });
      const change = changeOf(await operationsBefore(source.digest), document.operations);
      await store.saveSource(fresh, jittered(REFRESH_SECONDS), change);
      sources.set(url, { digest: fresh.digest });
      log.info({ url: withoutQuery(url), ...changeCounts(change) }, "an OpenAPI document changed");
      await onChanged?.(url);
    } catch (error) {
      // The previous document stays in use.
      log.warn({ err: error, url: withoutQuery(url) }, "could not refresh an OpenAPI document; will retry");
      await store.saveSource(source, jittered(RETRY_SECONDS));
    }
  }

  async function findSuperseded(digest: string): Promise<Operation | undefined> {
    const operation = await store.findOperation(digest);
    if (operation !== undefined) superseded.set(digest, operation);
    return operation;
  }

  return {
    async of(accountId, configuration, signal, isTrial) {
      signal.throwIfAborted();
      const { spec, spec_url: url } = configuration;
      const digest = digestIn(spec);
      if (digest !== undefined) {
        if (!isTrial) touch(digest, undefined);
        return orAborted(stored(accountId, digest), signal);
      }
      const text = textIn(spec);
      if (text !== undefined)
        return orAborted(
          cache.load(accountId, digestOf(text), () => Promise.resolve(text)),
          signal,
        );
      if (typeof url === "string") return orAborted(loadFromAddress(accountId, url, isTrial), signal);
      throw new DocumentFailure("unusable", "The configuration names no document.");
    },
    async adopt(accountId, text) {
      const digest = digestOf(text);
      const document = await cache.load(accountId, digest, () => Promise.resolve(text));
      await store.save({ digest, text, toolNames: document.tools.map(({ name }) => name) });
      return digest;
    },
    operationOf({ operations }, { name, digest }) {
      const current = operations.get(name);
      if (digest === undefined || current?.tool.digest === digest) return current;
      return superseded.get(digest) ?? findSuperseded(digest);
    },
    isUsedBy: (accountId, digest) => store.isUsedBy(accountId, digest),
    async maintain(onChanged) {
      for (const source of await store.claimDue(REFRESH_BATCH)) await refresh(source, onChanged);
      if (Date.now() < nextPurgeMs) return;
      nextPurgeMs = Date.now() + PURGE_MS;
      await store.purge();
    },
    forgetSources: () => sources.clear(),
  };
}

function jittered(seconds: number): number {
  return Math.round(seconds * (0.9 + Math.random() * 0.2));
}

/** Queries may contain keys. */
function withoutQuery(url: string): string {
  return url.split("?", 1)[0] ?? "";
}

type Operations = LoadedDocument["operations"];

function changeOf(before: Operations, now: Operations): DocumentChange {
  const superseded = [...before.values()].filter(({ tool }) => now.get(tool.name)?.tool.digest !== tool.digest);
  const names = superseded.map(({ tool }) => tool.name).sort();
  return {
    added: [...now.keys()].filter((name) => !before.has(name)).sort(),
    removed: names.filter((name) => !now.has(name)),
    changed: names.filter((name) => now.has(name)),
    superseded,
  };
}

function changeCounts({ added, removed, changed }: DocumentChange): object {
  return {
    added: added.length,
    removed: removed.length,
    changed: changed.length,
    addedTools: added.slice(0, 20),
    removedTools: removed.slice(0, 20),
  };
}
