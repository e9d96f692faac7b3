import Negotiator from "negotiator";

/** The content codings that a client accepts. */
export interface AcceptedCodings {
  readonly gzip: boolean;
  /** No coding at all. False only where the client refuses it. */
  readonly identity: boolean;
}

/** Reads an `Accept-Encoding` (RFC 9110 §12.5.3). Without one nothing is compressed. */
export function acceptedCodings(header: string | undefined): AcceptedCodings {
  const negotiator = new Negotiator({ headers: { "accept-encoding": header } });
  const accepted = negotiator.encodings(["gzip", "x-gzip", "identity"]);
  return { gzip: accepted.some((coding) => coding !== "identity"), identity: accepted.includes("identity") };
}
