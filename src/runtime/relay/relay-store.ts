/** Identifies a message between replicas. Neither part reveals anything about the content of the message. */
export interface RelayMessageName {
  /** Where the receiver listens: an unguessable id. */
  readonly address: string;
  readonly id: string;
}

/**
 * Messages between replicas, encrypted. Every method throws DomainError `unavailable` when the database cannot be
 * reached.
 */
export interface RelayStore {
  /** Stores a message for a minute and announces its name to all replicas. */
  put(accountId: string, name: RelayMessageName, text: string): Promise<void>;
  /** Deletes a message, announces that, and returns its text. Returns undefined if another replica took it. */
  take(accountId: string, name: RelayMessageName): Promise<string | undefined>;
  /** Deletes a message that nobody took. Returns false if somebody took it. */
  withdraw(accountId: string, name: RelayMessageName): Promise<boolean>;
  /** Returns the names of the messages that wait at an address, oldest first. */
  waiting(accountId: string, address: string): Promise<readonly RelayMessageName[]>;
}

/** What replicas announce: that a message was stored, or that it was taken. */
export interface RelayEvent {
  readonly kind: "stored" | "taken";
  readonly name: RelayMessageName;
}

/** Announcements of all replicas. They contain names only. */
export interface RelayFeed {
  onChange(callback: (event: RelayEvent) => void): () => void;
  /** Announcements may have been lost. */
  onGap(callback: () => void): () => void;
}
