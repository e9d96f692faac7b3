import { invalid } from "../../../domain-error.ts";

const TIMESTAMP = /^(\d{4}-\d{2}-\d{2})(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?$/;

/**
 * Parses an ISO 8601 timestamp: a date, which means 00:00 UTC, or date and time with an offset. Throws `invalid`
 * naming the field.
 */
export function parseTimestamp(field: string, text: string): Date {
  const [, date] = TIMESTAMP.exec(text) ?? [];
  const timestamp = new Date(text);
  if (date !== undefined && isDay(date) && !Number.isNaN(timestamp.getTime())) return timestamp;
  throw invalid(
    field,
    `${field} must be an ISO 8601 date, or date and time with an offset, such as 2026-07-01T09:00:00Z.`,
  );
}

/** JavaScript parses 30 February as a day of March. */
function isDay(date: string): boolean {
  const day = new Date(`${date}T00:00:00Z`);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(date);
}
