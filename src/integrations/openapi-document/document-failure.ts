/** A document that cannot be had. The message is a public sentence. */
export class DocumentFailure extends Error {
  override readonly name = "DocumentFailure";
  /** `unusable`: trying again does not help; somebody must change something. */
  readonly kind: "unusable" | "unreachable";

  constructor(kind: DocumentFailure["kind"], message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = kind;
  }
}

/** A reference that leads to no document of this account. */
export function documentNotStored(): DocumentFailure {
  return new DocumentFailure("unusable", "The document is not stored here any more; supply it again.");
}
