import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { isJsonObject, type JsonValue } from "../../src/json.ts";
import { ACCESS_TABLE } from "../cases/case.ts";

export const CALLERS = ["owner", "admin", "member", "client", "person", "outsider"] as const;
export const OBJECTS = ["none", "organization", "own", "other"] as const;
export const RESULTS = ["ok", "forbidden", "not_found"] as const;

export type CallerName = (typeof CALLERS)[number];
export type ObjectName = (typeof OBJECTS)[number];
export type AccessResult = (typeof RESULTS)[number];

/** What one caller gets for one kind of object. */
export interface AccessRule {
  readonly operation: string;
  readonly object: ObjectName;
  readonly caller: CallerName;
  readonly result: AccessResult;
}

/** Reads the table of operations and roles. Throws for a word that it does not define. */
export function readAccessTable(): readonly AccessRule[] {
  const text = readFileSync(new URL(`../cases/${ACCESS_TABLE}`, import.meta.url), "utf8");
  const table = parse(text) as JsonValue;
  if (!isJsonObject(table) || JSON.stringify(table["callers"]) !== JSON.stringify(CALLERS))
    throw new Error(`${ACCESS_TABLE} must name the callers ${CALLERS.join(", ")}`);
  return Object.entries(object(table["operations"])).flatMap(([operation, objects]) =>
    Object.entries(object(objects)).flatMap(([objectName, results]) => {
      if (!Array.isArray(results) || results.length !== CALLERS.length)
        throw new Error(`${operation} has ${objectName} without a result for every caller`);
      return CALLERS.map((caller, index) => ({
        ...{ operation, caller },
        object: word(OBJECTS, objectName),
        result: word(RESULTS, results[index]),
      }));
    }),
  );
}

function word<Word extends string>(words: readonly Word[], value: unknown): Word {
  const found = words.find((each) => each === value);
  if (found === undefined) throw new Error(`${String(value)} is none of ${words.join(", ")}`);
  return found;
}

function object(value: JsonValue | undefined): Readonly<Record<string, JsonValue>> {
  return isJsonObject(value) ? value : {};
}
