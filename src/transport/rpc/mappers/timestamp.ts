import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";
import { invalid } from "../../../domain-error.ts";

/** The seconds of 0001-01-01 and of the end of 9999, between which protobuf defines timestamps. */
const [MIN_SECONDS, MAX_SECONDS] = [-62_135_596_800n, 253_402_300_799n];

/** The time of a request field, in milliseconds; protobuf's nanoseconds are rounded. Throws `invalid` naming the field. */
export function fromWireTimestamp(field: string, timestamp: Timestamp | undefined): Date | undefined {
  if (timestamp === undefined) return undefined;
  const { seconds, nanos } = timestamp;
  if (seconds < MIN_SECONDS || seconds > MAX_SECONDS || nanos < 0 || nanos > 999_999_999)
    throw invalid(field, `${field} must be between 0001-01-01 and 9999-12-31, with 0 to 999999999 nanoseconds.`);
  return timestampDate(timestamp);
}

/** The range of times that a filter names. Throws `invalid` naming the field. */
export function fromWireRange(range: {
  readonly since?: Timestamp | undefined;
  readonly until?: Timestamp | undefined;
}): { readonly since: Date | undefined; readonly until: Date | undefined } {
  return { since: fromWireTimestamp("since", range.since), until: fromWireTimestamp("until", range.until) };
}
