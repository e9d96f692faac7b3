import { hash } from "node:crypto";
import fresh from "fresh";

/** Number of digest characters in a tag: 132 bits. */
const DIGEST_LENGTH = 22;

/** Returns the strong tag of a version. It is the same for all views of the resource. */
export function versionTag(version: Date): string {
  return `"${version.getTime().toString(36)}"`;
}

/** Returns the weak tag of content. It is the same with and without compression. */
export function contentTag(content: string | Buffer): string {
  return `W/"${hash("sha256", content, "base64url").slice(0, DIGEST_LENGTH)}"`;
}

/**
 * Whether an `If-None-Match` names the tag, by weak comparison (RFC 9110 §13.1.2). Other request headers are ignored,
 * because `fetch` adds `Cache-Control: no-cache` to a request with its own `If-None-Match`.
 */
export function isKnown(ifNoneMatch: string | undefined, tag: string): boolean {
  return fresh({ "if-none-match": ifNoneMatch }, { etag: tag });
}

/**
 * The versions named by an `If-Match`, in milliseconds since 1970. Undefined for `*`, which matches any version. Weak
 * and foreign tags match nothing (RFC 9110 §13.1.1).
 */
export function versionsNamed(ifMatch: string): readonly number[] | undefined {
  if (ifMatch.trim() === "*") return undefined;
  return ifMatch.split(",").flatMap((each) => {
    const [, digits] = /^\s*"([0-9a-z]{1,10})"\s*$/.exec(each) ?? [];
    return digits === undefined ? [] : [Number.parseInt(digits, 36)];
  });
}
