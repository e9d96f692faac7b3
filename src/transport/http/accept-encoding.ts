import Negotiator from "negotiator";

/** The content codings that a client accepts. */
export interface AcceptedCodings {
  readonly gzip: boolean;
  /** The `identity` coding. False only if the client refuses it. */
  readonly identity: boolean;
}

/** Parses an `Accept-Encoding` header (RFC 9110 §12.5.3). Without the header nothing is compressed. */
export function acceptedCodings(header: string | undefined): AcceptedCodings {
  const negotiator = new Negotiator({ headers: { "accept-encoding": header } });
  const accepted = negotiator.encodings(["gzip", "x-gzip", "identity"]);
  return { gzip: accepted.some((coding) => coding !== "identity"), identity: accepted.includes("identity") };
}
