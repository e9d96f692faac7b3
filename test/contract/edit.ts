import type { Document } from "./document.ts";

/** Returns a copy of the document with one value changed; `undefined` removes it. Throws if the path does not exist. */
export function edited(document: Document, place: readonly (string | number)[], value: unknown): Document {
  const copy = structuredClone(document);
  let target = copy as unknown as Record<string | number, unknown>;
  for (const key of place.slice(0, -1)) {
    const next = target[key];
    if (typeof next !== "object" || next === null) throw new Error(`nothing at ${place.join(" ")}`);
    target = next as Record<string | number, unknown>;
  }
  const last = place.at(-1) ?? "";
  if (value === undefined) Reflect.deleteProperty(target, last);
  else target[last] = value;
  return copy;
}
