/** What the runtime needs of a logger; pino's has this shape. */
export interface Log {
  warn(fields: object, message: string): void;
}
