/** Why an answer was given up before its end. `encoded`: compressed although not asked for, and so without a known size. */
export type RefusedAs = "too_large" | "timeout" | "encoded";

/** An answer that was given up because it passed a limit. */
export class AnswerRefused extends Error {
  readonly kind: RefusedAs;

  constructor(kind: RefusedAs, message: string) {
    super(message);
    this.name = "AnswerRefused";
    this.kind = kind;
  }
}
