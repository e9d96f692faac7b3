const REASONS: Readonly<Record<string, string>> = {
  ENOTFOUND: "its host name is not known.",
  EAI_AGAIN: "its host name could not be looked up just now.",
  ECONNREFUSED: "nothing accepts connections at its address.",
  ECONNRESET: "it broke off the connection.",
  EPIPE: "it broke off the connection.",
  UND_ERR_SOCKET: "it broke off the connection.",
  ETIMEDOUT: "connecting took too long.",
  UND_ERR_CONNECT_TIMEOUT: "connecting took too long.",
  UND_ERR_HEADERS_TIMEOUT: "it did not answer in time.",
  UND_ERR_BODY_TIMEOUT: "its answer stopped midway.",
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: "its answer was cut short.",
  UND_ERR_HEADERS_OVERFLOW: "its headers are too large.",
  CERT_HAS_EXPIRED: "its certificate has expired.",
  DEPTH_ZERO_SELF_SIGNED_CERT: "its certificate is not trusted.",
  SELF_SIGNED_CERT_IN_CHAIN: "its certificate is not trusted.",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "its certificate is not trusted.",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for another host.",
};

/** Returns the cause of a connection failure as the end of a sentence. */
export function reasonFor(error: Error): string {
  const code = codeOf(error);
  if (code !== undefined && REASONS[code] !== undefined) return REASONS[code];
  return code?.startsWith("HPE_") === true ? "its answer is not HTTP." : "the connection failed.";
}

/** Returns the code of an error or of its causes. */
export function codeOf(error: unknown): string | undefined {
  for (let current = error, depth = 0; current instanceof Error && depth < 5; current = current.cause, depth += 1)
    if ("code" in current && typeof current.code === "string") return current.code;
  return undefined;
}
