/** The start of the HTTP/2 preface (RFC 9113 §3.4) that distinguishes it from HTTP/1.1. */
const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");

/** The protocol of the first bytes; `unknown` while both are possible. */
export function protocolOf(firstBytes: Buffer): "h2" | "http1" | "unknown" {
  const length = Math.min(firstBytes.length, PREFACE.length);
  if (PREFACE.compare(firstBytes, 0, length, 0, length) !== 0) return "http1";
  return length === PREFACE.length ? "h2" : "unknown";
}
