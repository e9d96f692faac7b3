import type { ToolChange } from "../integration.ts";
import type { Operation } from "../openapi/model/operation.ts";

/** A document at rest. Shared by every connection that uses it, of whatever account. */
export interface StoredDocument {
  /** SHA-256 of its text, in hexadecimal. */
  readonly digest: string;
  readonly text: string;
  /** The names of its tools, to tell what changed without reading it again. */
  readonly toolNames: readonly string[];
}

/** An address that documents are fetched from, and what it last answered. */
export interface DocumentSource {
  readonly url: string;
  readonly digest: string;
  /** What the server said to ask with next time. */
  readonly etag: string | undefined;
}

/** How the tools of an address changed. */
export interface DocumentChange extends Omit<ToolChange, "changedAt"> {
  /** The operations that are gone or no longer as they were: connections may still hold on to them. */
  readonly superseded: readonly Operation[];
}

/** Documents and where they come from, at rest. */
export interface DocumentStore {
  find(digest: string): Promise<Pick<StoredDocument, "text" | "toolNames"> | undefined>;
  /** Keeps a document; nothing happens when it is there already. */
  save(document: StoredDocument): Promise<void>;
  /** Whether a connection of this account refers to the document. */
  isUsedBy(accountId: string, digest: string): Promise<boolean>;
  findSource(url: string): Promise<DocumentSource | undefined>;
  /**
   * Notes what an address answered to its first fetch, with the next one in so many seconds; what another replica noted
   * first stays. Answers what holds.
   */
  addSource(source: DocumentSource, dueInSeconds: number): Promise<DocumentSource>;
  /** Notes what an address answered, with its next fetch in so many seconds. A `change` is recorded, and every replica told. */
  saveSource(source: DocumentSource, dueInSeconds: number, change?: DocumentChange): Promise<void>;
  /** An operation that a document of then had, by its tool's digest. */
  findOperation(digest: string): Promise<Operation | undefined>;
  /** Takes addresses that are due, each for this caller alone; they are due again in 10 minutes unless saved before. */
  claimDue(limit: number): Promise<readonly DocumentSource[]>;
  /** The latest changes of an address, newest first. */
  listChanges(url: string, limit: number): Promise<readonly ToolChange[]>;
  /** Notes that these are in use. */
  touch(digest: string, url: string | undefined): Promise<void>;
  /** Deletes what no connection uses any more. */
  purge(): Promise<void>;
}
