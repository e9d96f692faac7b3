import { invalid } from "../domain-error.ts";

const DAY_SECONDS = 86_400;
const MAX_GRACE_SECONDS = 7 * DAY_SECONDS;

/** Seconds for which a replaced secret stays valid: 0 to 7 days, by default one day. Throws `invalid`. */
export function checkGrace(seconds: number = DAY_SECONDS): number {
  if (seconds >= 0 && seconds <= MAX_GRACE_SECONDS) return seconds;
  throw invalid("grace_seconds", `grace_seconds must be from 0 to ${MAX_GRACE_SECONDS}.`);
}
