import { type Logger, pino } from "pino";
import type { ServiceLogLevel } from "./config.ts";

/** Names that must not reach a log even by mistake, wherever they stand in what is logged. */
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

/** The process's log: JSON lines on standard error, so that standard output stays for what the operator is told. */
export function createLog(level: ServiceLogLevel): Logger {
  const paths = SECRET_NAMES.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]);
  return pino({ level, redact: { paths, censor: "[redacted]" } }, pino.destination({ dest: 2, sync: false }));
}
