/** A check that did not run or did not finish. The message is public. */
export class SchemaCheckRefused extends Error {
  override readonly name = "SchemaCheckRefused";
  /** `too_expensive`: the schema and value exceed the limits of a check. `busy`: a retry may succeed. */
  readonly kind: "too_expensive" | "busy";

  constructor(kind: SchemaCheckRefused["kind"], message: string) {
    super(message);
    this.kind = kind;
  }
}
