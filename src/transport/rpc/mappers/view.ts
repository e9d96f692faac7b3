import { invalid } from "../../../domain-error.ts";

/**
 * Whether the detailed shape is requested: by `view`, or by a body in the alternate shape. Throws `invalid` for an
 * unknown view.
 */
export function wantsDetails(request: {
  readonly view?: string | undefined;
  readonly connectionId?: string | undefined;
}): boolean {
  if (request.view !== undefined && request.view !== "default" && request.view !== "detailed") {
    throw invalid("view", "view must be default or detailed.");
  }
  return request.view === "detailed" || request.connectionId !== undefined;
}
