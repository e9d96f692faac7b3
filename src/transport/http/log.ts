/** The part of pino's interface that transport uses. */
export interface Log {
  error(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}
