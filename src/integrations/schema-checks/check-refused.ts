/** A check that was not made, or not to its end. The message is a public sentence. */
export class SchemaCheckRefused extends Error {
  override readonly name = "SchemaCheckRefused";
  /** `too_expensive`: the schema and the value need more than a check may take. `busy`: trying again later may help. */
  readonly kind: "too_expensive" | "busy";

  constructor(kind: SchemaCheckRefused["kind"], message: string) {
    super(message);
    this.kind = kind;
  }
}
