/** A document that is unavailable. The message is a public sentence. */
export class DocumentFailure extends Error {
  override readonly name = "DocumentFailure";
  /** `unusable`: a retry does not help. */
  readonly kind: "unusable" | "unreachable";

  constructor(kind: DocumentFailure["kind"], message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = kind;
  }
}

export function documentNotStored(): DocumentFailure {
  return new DocumentFailure("unusable", "The document is not stored here any more; supply it again.");
}
