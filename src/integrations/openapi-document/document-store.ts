import type { ToolChange } from "../integration.ts";
import type { Operation } from "../openapi/model/operation.ts";

/** A stored document, shared by connections of all accounts. */
export interface StoredDocument {
  /** SHA-256 of the text, in hexadecimal. */
  readonly digest: string;
  readonly text: string;
  /** The names of its tools, for detecting changes without converting the document. */
  readonly toolNames: readonly string[];
}

/** A URL of documents and its last answer. */
export interface DocumentSource {
  readonly url: string;
  readonly digest: string;
  /** For `If-None-Match`. */
  readonly etag: string | undefined;
}

/** Changes of the tools at a URL. */
export interface DocumentChange extends Omit<ToolChange, "changedAt"> {
  /** Removed or changed operations, which connections may still have accepted. */
  readonly superseded: readonly Operation[];
}

export interface DocumentStore {
  find(digest: string): Promise<Pick<StoredDocument, "text" | "toolNames"> | undefined>;
  /** Does nothing when the document is stored already. */
  save(document: StoredDocument): Promise<void>;
  /** Whether a connection of this account refers to the document. */
  isUsedBy(accountId: string, digest: string): Promise<boolean>;
  findSource(url: string): Promise<DocumentSource | undefined>;
  /** Records the first fetch of a URL and returns the stored source: of two replicas, the first wins. */
  addSource(source: DocumentSource, dueInSeconds: number): Promise<DocumentSource>;
  /** Records a fetch and schedules the next one. A `change` is recorded and all replicas are notified. */
  saveSource(source: DocumentSource, dueInSeconds: number, change?: DocumentChange): Promise<void>;
  /** Returns an operation of an earlier document by its tool's digest. */
  findOperation(digest: string): Promise<Operation | undefined>;
  /** Claims due URLs for this caller. They are due again in 10 minutes unless saved. */
  claimDue(limit: number): Promise<readonly DocumentSource[]>;
  /** Newest first. */
  listChanges(url: string, limit: number): Promise<readonly ToolChange[]>;
  /** Records that a document and its URL are in use. */
  touch(digest: string, url: string | undefined): Promise<void>;
  /** Deletes documents and URLs without connections. */
  purge(): Promise<void>;
}
