import type { JsonValue } from "../../../json.ts";
import { arrayOf, objectOf, OpenApiError, stringOf } from "../model/document.ts";
import { MAX_SERVER_URL_LENGTH, type ServerPlan } from "../model/operation.ts";

/** Returns the first server with its variables' defaults; "/" when there is none. */
export function serverOf(servers: JsonValue | undefined): ServerPlan {
  const server = objectOf(arrayOf(servers)[0]);
  const defaults = Object.entries(objectOf(server.variables)).flatMap(([name, variable]): [string, string][] => {
    const value = stringOf(objectOf(variable).default);
    return value === undefined ? [] : [[name, bounded(value)]];
  });
  return { url: bounded(stringOf(server.url) ?? "/"), defaults: new Map(defaults) };
}

function bounded(url: string): string {
  if (url.length <= MAX_SERVER_URL_LENGTH) return url;
  throw new OpenApiError(
    `has a server URL of ${url.length.toLocaleString("en")} characters; ${MAX_SERVER_URL_LENGTH} are the most`,
  );
}
