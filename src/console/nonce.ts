declare global {
  /** The property in which a library that creates styles expects the nonce. */
  var __webpack_nonce__: string | undefined;
}

/** The nonce with which this page's security policy allows styles. Empty in development. */
export function readNonce(): string {
  const meta = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]');
  const nonce = meta?.nonce ?? "";
  globalThis.__webpack_nonce__ = nonce;
  return nonce;
}
