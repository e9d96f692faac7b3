import type { FieldMask } from "@bufbuild/protobuf/wkt";
import { invalid } from "../../../domain-error.ts";

/**
 * The fields that an update can change, by proto name, and whether a request supplies them. A list has no presence, so
 * an empty one is `unknown`: it counts only if the mask names it.
 */
export type SuppliedFields<Request> = Readonly<Record<string, (request: Request) => boolean | "unknown">>;

/**
 * Tells which fields an update changes. Without a mask, these are the fields that the request supplies, at least one;
 * with `*`, they include its empty lists. Throws `invalid`.
 */
export function readUpdateMask<Request extends { readonly updateMask?: FieldMask | undefined }>(
  request: Request,
  fields: SuppliedFields<Request>,
): (field: string) => boolean {
  const paths = request.updateMask?.paths;
  const supplied = (field: string): boolean | "unknown" => fields[field]?.(request) ?? false;
  if (paths === undefined || paths.includes("*")) {
    if (paths !== undefined && paths.length > 1)
      throw invalid("update_mask", "update_mask must be either * or a list of fields.");
    const isAll = paths !== undefined;
    if (!isAll && !Object.keys(fields).some((field) => supplied(field) === true)) throw nothingSupplied(fields);
    return (field) => supplied(field) === true || (isAll && supplied(field) === "unknown");
  }
  const unknown = paths.find((path) => !Object.hasOwn(fields, path));
  if (unknown !== undefined) {
    throw invalid(
      "update_mask",
      `update_mask: ${JSON.stringify(unknown.slice(0, 64))} is not a field that an update can change.`,
    );
  }
  const missing = paths.find((path) => supplied(path) === false);
  if (missing !== undefined)
    throw invalid(missing, `update_mask names ${missing}, but the request does not supply it.`);
  const named = new Set(paths);
  return (field) => named.has(field);
}

/** An empty list looks like a field that was left out, so the caller may have meant an empty list. */
function nothingSupplied(fields: Readonly<Record<string, unknown>>): Error {
  return invalid(
    "update_mask",
    `The request supplies no field to change: ${Object.keys(fields).join(", ")}. To clear a list, name it in update_mask.`,
  );
}
