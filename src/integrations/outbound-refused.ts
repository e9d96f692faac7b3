/**
 * A destination that the outbound guard rejected; nothing was sent. `message` is public: what was rejected, why and
 * what the operator can do. It never names a resolved address.
 */
export class OutboundRefused extends Error {
  readonly code = "OUTBOUND_REFUSED";

  constructor(message: string) {
    super(message);
    this.name = "OutboundRefused";
  }
}
