import { hash } from "node:crypto";
import fresh from "fresh";

/** Characters of a digest that a tag holds: 132 bits. */
const DIGEST_LENGTH = 22;

/** The strong tag of what has a version: it changes whenever that does, whichever shape is asked for. */
export function versionTag(version: Date): string {
  return `"${version.getTime().toString(36)}"`;
}

/** The weak tag of content: the same for the same content, compressed or not. */
export function contentTag(content: string | Buffer): string {
  return `W/"${hash("sha256", content, "base64url").slice(0, DIGEST_LENGTH)}"`;
}

/**
 * Whether an `If-None-Match` names the tag; weakness does not count there (RFC 9110 §13.1.2). Other request headers are left out:
 * `fetch` adds `Cache-Control: no-cache` to a request that carries its own `If-None-Match`.
 */
export function isKnown(ifNoneMatch: string | undefined, tag: string): boolean {
  return fresh({ "if-none-match": ifNoneMatch }, { etag: tag });
}

/**
 * The versions that an `If-Match` names, in milliseconds since 1970. Undefined for `*`, which any version matches. A weak tag,
 * and what is no tag of ours, matches nothing (RFC 9110 §13.1.1).
 */
export function versionsNamed(ifMatch: string): readonly number[] | undefined {
  if (ifMatch.trim() === "*") return undefined;
  return ifMatch.split(",").flatMap((each) => {
    const [, digits] = /^\s*"([0-9a-z]{1,10})"\s*$/.exec(each) ?? [];
    return digits === undefined ? [] : [Number.parseInt(digits, 36)];
  });
}
