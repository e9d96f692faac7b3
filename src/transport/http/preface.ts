/** What every cleartext HTTP/2 connection opens with (RFC 9113 §3.4), as far as it takes to tell it from HTTP/1.1. */
const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");

/** What the first bytes of a connection speak; `unknown` while they could still become either. */
export function protocolOf(firstBytes: Buffer): "h2" | "http1" | "unknown" {
  const length = Math.min(firstBytes.length, PREFACE.length);
  if (PREFACE.compare(firstBytes, 0, length, 0, length) !== 0) return "http1";
  return length === PREFACE.length ? "h2" : "unknown";
}
