/** What a caller takes an answer as. */
export interface AcceptedCodings {
  readonly gzip: boolean;
  /** Unpacked. False only where the caller says so. */
  readonly identity: boolean;
}

const OFFER = /^\s*([!#$%&'*+\-.^_`|~0-9a-z]+)\s*(?:;\s*q\s*=\s*([01](?:\.[0-9]{0,3})?)\s*)?$/;

/** Reads an `Accept-Encoding` (RFC 9110 §12.5.3). Without one nothing is packed; what cannot be read is passed over. */
export function acceptedCodings(header: string | undefined): AcceptedCodings {
  const weights = new Map<string, number>();
  for (const offer of (header ?? "identity").toLowerCase().split(",")) {
    const [, coding, weight = "1"] = OFFER.exec(offer) ?? [];
    if (coding !== undefined) weights.set(coding, Number(weight));
  }
  const others = weights.get("*");
  return {
    gzip: (weights.get("gzip") ?? weights.get("x-gzip") ?? others ?? 0) > 0,
    identity: (weights.get("identity") ?? (others === 0 ? 0 : 1)) > 0,
  };
}
