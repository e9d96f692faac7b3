/** The account page. */
export const HOME_PATH = "/account";

/** The page after logging in by default: the console. */
const START_PATH = "/";

/**
 * A path of this site: one slash, not followed by a slash or backslash, because browsers read both as the start of a
 * host.
 */
const LOCAL_PATH = /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/;

const MAX_LENGTH = 4_096;

/** Returns the path and query to open after the login; the home page for anything that could lead to another site. */
export function parseReturnTo(value: string | null | undefined): string {
  if (typeof value !== "string" || value.length > MAX_LENGTH || !LOCAL_PATH.test(value)) return START_PATH;
  // Parses it as browsers do, including dots and escapes.
  const url = new URL(value, "https://this.invalid");
  return url.host === "this.invalid" && !url.pathname.startsWith("//") ? url.pathname + url.search : START_PATH;
}

/** The address of the login page that leads back to a path of this site. */
export function loginAddress(returnTo: string): string {
  return `/login?${new URLSearchParams({ return_to: returnTo }).toString()}`;
}
