import { invalid } from "../domain-error.ts";
import { isLongerThan } from "../text-length.ts";

export const MAX_NAME = 255;
const MAX_DESCRIPTION = 2_000;
const MAX_KEY = 4_096;

/** Throws `invalid` unless the name has 1 to 255 characters without control characters. */
export function checkName(name: string): string {
  if (name.trim() === "" || isLongerThan(name, MAX_NAME))
    throw invalid("name", `name must have 1 to ${MAX_NAME} characters.`);
  if (/\p{Cc}/u.test(name)) throw invalid("name", "name must not contain control characters.");
  return name;
}

/** Throws `invalid` above 2,000 characters. */
export function checkDescription(description: string): string {
  if (isLongerThan(description, MAX_DESCRIPTION)) {
    throw invalid("description", `description must have at most ${MAX_DESCRIPTION} characters.`);
  }
  return description;
}

/** Throws `invalid`, without the key, unless it has 1 to 4,096 characters that a header can carry. */
export function checkApiKey(key: string): string {
  if (key === "" || isLongerThan(key, MAX_KEY))
    throw invalid("api_key", `api_key must have 1 to ${MAX_KEY} characters.`);
  if (/\p{Cc}/u.test(key)) throw invalid("api_key", "api_key must not contain control characters.");
  return key;
}

/** Checks the secret of a connection's own client (DESIGN §6). Throws `invalid` without the secret. */
export function checkClientSecret(secret: string): string {
  if (!/^[A-Za-z0-9_-]{32,128}$/.test(secret)) {
    throw invalid("oauth2_client_secret", "oauth2_client_secret must be 32 to 128 of letters, digits, _ and -.");
  }
  return secret;
}
