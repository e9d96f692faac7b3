declare global {
  /** Where a library that makes styles as it goes looks for the nonce. */
  var __webpack_nonce__: string | undefined;
}

/** The nonce of this page, which its security policy allows styles by. Empty while developing. */
export function readNonce(): string {
  const meta = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]');
  const nonce = meta?.nonce ?? "";
  globalThis.__webpack_nonce__ = nonce;
  return nonce;
}
