/** `encoded`: compressed although identity was requested, so the decompressed size is unknown. */
export type RefusedAs = "too_large" | "timeout" | "encoded";

/** An answer that was aborted because it exceeded a limit. */
export class AnswerRefused extends Error {
  readonly kind: RefusedAs;

  constructor(kind: RefusedAs, message: string) {
    super(message);
    this.name = "AnswerRefused";
    this.kind = kind;
  }
}
