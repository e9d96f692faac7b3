/** Where people see who they are here. */
export const HOME_PATH = "/account";

/** Where people go after logging in when nothing else was asked for: the console. */
export const START_PATH = "/";

/** A path of this site: one slash, then no second one and no backslash, which browsers read as a slash. */
const LOCAL_PATH = /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/;

const MAX_LENGTH = 4_096;

/** The path and query to go on to after logging in; anything that could lead to another site becomes the home page. */
export function parseReturnTo(value: string | null | undefined): string {
  if (typeof value !== "string" || value.length > MAX_LENGTH || !LOCAL_PATH.test(value)) return START_PATH;
  // What a browser would make of it decides: dots, escapes and all.
  const url = new URL(value, "https://this.invalid");
  return url.host === "this.invalid" && !url.pathname.startsWith("//") ? url.pathname + url.search : START_PATH;
}

/** The login page that leads back to a path of this site. */
export function loginAddress(returnTo: string): string {
  return `/login?${new URLSearchParams({ return_to: returnTo }).toString()}`;
}
