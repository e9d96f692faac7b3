/**
 * A destination that the outbound guard did not let through; no request was sent.
 *
 * `message` is a public sentence: what was refused, why, and what the operator can do. It never names a resolved address.
 */
export class OutboundRefused extends Error {
  readonly code = "OUTBOUND_REFUSED";

  constructor(message: string) {
    super(message);
    this.name = "OutboundRefused";
  }
}
