import type { JsonValue } from "../../../json.ts";
import type { UpstreamRateLimit } from "../../upstream-rate-limiter.ts";
import { arrayOf, objectOf, OpenApiError, stringOf } from "../model/document.ts";

/** Maximum number of requests per window; it is limited because the time of each request is stored. */
const MAX_REQUESTS = 2_000;
/** One day. */
const MAX_SECONDS = 86_400;

/**
 * Reads `x-patchbay-rate-limits`: a list of `{requests, seconds}`; `per` names an argument whose values are counted
 * separately. `scope` distinguishes the limits of tools. Throws OpenApiError.
 */
export function rateLimitsOf(value: JsonValue | undefined, scope: string): readonly UpstreamRateLimit[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw new OpenApiError('has "x-patchbay-rate-limits" that are no list');
  return arrayOf(value).map((entry, index) => {
    const { requests, seconds, per } = objectOf(entry);
    if (!isBetween(requests, 1, MAX_REQUESTS) || !Number.isInteger(requests) || !isBetween(seconds, 0.001, MAX_SECONDS))
      throw new OpenApiError(
        `needs "requests" from 1 to ${MAX_REQUESTS} and "seconds" up to ${MAX_SECONDS} in "x-patchbay-rate-limits"`,
      );
    return { id: `${scope}#${index}`, requests, windowMs: seconds * 1_000, per: stringOf(per) };
  });
}

function isBetween(value: JsonValue | undefined, least: number, most: number): value is number {
  return typeof value === "number" && value >= least && value <= most;
}
