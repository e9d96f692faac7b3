import type { JsonValue } from "../../../json.ts";
import { arrayOf, objectOf, textOf } from "../document.ts";
import type { ServerPlan } from "../operation.ts";

/** The first of a document's servers, with the defaults of its variables; one that is relative where there is none. */
export function serverOf(servers: JsonValue | undefined): ServerPlan {
  const server = objectOf(arrayOf(servers)[0]);
  const defaults = Object.entries(objectOf(server.variables)).flatMap(([name, variable]): [string, string][] => {
    const value = textOf(objectOf(variable).default);
    return value === undefined ? [] : [[name, value]];
  });
  return { url: textOf(server.url) ?? "/", defaults: new Map(defaults) };
}
