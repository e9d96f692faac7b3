import { type Logger, pino } from "pino";
import type { ServiceLogLevel } from "./config.ts";

/** Fields that are redacted at any of the first three levels. */
const SECRET_NAMES = [
  "authorization",
  "api_key",
  "apiKey",
  "api_token",
  "password",
  "secret",
  "client_secret",
  "cookie",
];

/** The part of a logger that most modules need; tests pass a plain object. */
export interface WarnLog {
  warn(fields: object, message: string): void;
}

/** Logs JSON lines to standard error. Standard output is for messages to the operator. */
export function createLog(level: ServiceLogLevel): Logger {
  const paths = SECRET_NAMES.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]);
  return pino({ level, redact: { paths, censor: "[redacted]" } }, pino.destination({ dest: 2, sync: false }));
}
