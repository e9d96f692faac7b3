/** What transport needs of a logger; pino's has this shape. */
export interface Log {
  error(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}
