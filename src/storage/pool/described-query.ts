import pg from "pg";

/** A row as PostgreSQL sends it. */
type Texts = readonly (string | null)[];

type Parse = (text: string) => unknown;

type Columns = readonly { readonly name: string; readonly parse: Parse }[];

type Answered = (error: Error | undefined, rows?: pg.QueryResultRow[]) => void;

/** The methods that the driver's client calls on every query that it runs, for example on those of pg-cursor. */
interface SubmittedQuery {
  /** The client wraps this callback to clear its timer. */
  callback: Answered;
  submit(connection: pg.Connection): Error | null;
  handleRowDescription(message: { readonly fields: readonly pg.FieldDef[] }): void;
  handleDataRow(message: { readonly fields: Texts }): void;
  handleCommandComplete(): void;
  handleReadyForQuery(): void;
}

// eslint-disable-next-line @typescript-eslint/no-unsafe-type-assertion -- the driver's types leave out what its client calls.
const DriverQuery = pg.Query as unknown as new (statement: pg.QueryConfig, answered: Answered) => SubmittedQuery;

/** What a connection knows about its prepared statements. */
export interface KnownColumns {
  readonly parserOf: (typeId: number) => Parse;
  readonly byStatement: Map<string, Columns>;
  /** A view of the connection that requests no description. */
  undescribed?: pg.Connection;
}

/**
 * Requests the columns of a named statement once per connection; the driver would request them with every query. They
 * cannot change: PostgreSQL refuses a prepared statement whose result type has changed.
 */
export class DescribedQuery extends DriverQuery {
  readonly #known: KnownColumns;
  readonly #name: string;
  readonly #rows: Texts[] = [];
  #columns: Columns | undefined;

  constructor(statement: pg.QueryConfig, known: KnownColumns, answered: Answered) {
    super(statement, answered);
    this.#known = known;
    this.#name = statement.name ?? "";
  }

  override submit(connection: pg.Connection): Error | null {
    this.#columns = this.#known.byStatement.get(this.#name);
    if (this.#columns === undefined) return super.submit(connection);
    return super.submit((this.#known.undescribed ??= withoutDescriptions(connection)));
  }

  override handleRowDescription({ fields }: { readonly fields: readonly pg.FieldDef[] }): void {
    const { parserOf, byStatement } = this.#known;
    this.#columns = fields.map(({ name, dataTypeID }) => ({ name, parse: parserOf(dataTypeID) }));
    if (this.#name !== "") byStatement.set(this.#name, this.#columns);
  }

  override handleDataRow({ fields }: { readonly fields: Texts }): void {
    this.#rows.push(fields);
  }

  override handleCommandComplete(): void {
    // A read returns only its rows.
  }

  override handleReadyForQuery(): void {
    try {
      this.callback(
        undefined,
        this.#rows.map((texts) => readRow(this.#columns ?? [], texts)),
      );
    } catch (error) {
      this.callback(error instanceof Error ? error : new TypeError("a value cannot be read", { cause: error }));
    }
  }
}

function readRow(columns: Columns, texts: Texts): pg.QueryResultRow {
  const row: Record<string, unknown> = {};
  let index = 0;
  for (const { name, parse } of columns) {
    const text = texts[index++];
    row[name] = typeof text === "string" ? parse(text) : null;
  }
  return row;
}

function withoutDescriptions(connection: pg.Connection): pg.Connection {
  // eslint-disable-next-line @typescript-eslint/no-unsafe-return -- it is the connection in all but this.
  return Object.create(connection, { describe: { value: () => undefined } });
}
