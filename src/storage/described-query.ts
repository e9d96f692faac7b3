import pg from "pg";

/** What the driver makes of the description of a statement's columns. */
interface ColumnReading {
  fields: readonly object[];
  _parsers: readonly unknown[] | undefined;
  _prebuiltEmptyResultObject: object | null;
}

/** What the driver's query is made of besides its published type; the version of the driver is pinned. */
interface DriverQuery extends pg.Submittable {
  readonly name: string | undefined;
  readonly _result: ColumnReading;
  _accumulateRows: boolean;
  prepare(connection: pg.Connection): void;
  handleRowDescription(message: object): void;
}

type Answered<Row extends pg.QueryResultRow> = (error: Error | undefined, result: pg.QueryResult<Row>) => void;

// eslint-disable-next-line @typescript-eslint/no-unsafe-type-assertion -- the one place that knows the driver's inside.
const DriversQuery = pg.Query as unknown as new (statement: pg.QueryConfig, answered: Answered<never>) => DriverQuery;

/** The columns of the statements that a connection has described, by statement; to be kept as long as the connection. */
export interface KnownColumns {
  readonly byStatement: Map<string, ColumnReading>;
  /** The connection as one that asks for no description. */
  undescribed: pg.Connection | undefined;
}

/** The memory of a new connection. */
export function createKnownColumns(): KnownColumns {
  return { byStatement: new Map(), undescribed: undefined };
}

/**
 * A statement that, where it has a name, has its columns described once a connection. The driver asks for them with every query, reads all
 * their names, and builds its reading of them anew, which is a seventh of a list. They cannot change: PostgreSQL refuses to
 * run a prepared statement whose result has become another one ("cached plan must not change result type").
 */
export class DescribedQuery<Row extends pg.QueryResultRow> extends DriversQuery {
  readonly #known: KnownColumns;

  constructor(statement: pg.QueryConfig, known: KnownColumns, answered: Answered<Row>) {
    super(statement, answered);
    this.#known = known;
  }

  override prepare(connection: pg.Connection): void {
    const columns = this.name === undefined ? undefined : this.#known.byStatement.get(this.name);
    if (columns === undefined) {
      super.prepare(connection);
      return;
    }
    const { _result: result } = this;
    result.fields = columns.fields;
    result._parsers = columns._parsers;
    result._prebuiltEmptyResultObject = columns._prebuiltEmptyResultObject;
    this._accumulateRows = true;
    super.prepare((this.#known.undescribed ??= withoutDescriptions(connection)));
  }

  override handleRowDescription(message: object): void {
    super.handleRowDescription(message);
    if (this.name === undefined) return;
    const { fields, _parsers, _prebuiltEmptyResultObject } = this._result;
    this.#known.byStatement.set(this.name, { fields, _parsers, _prebuiltEmptyResultObject });
  }
}

function withoutDescriptions(connection: pg.Connection): pg.Connection {
  // eslint-disable-next-line @typescript-eslint/no-unsafe-return -- it is the connection in all but this.
  return Object.create(connection, { describe: { value: () => undefined } });
}
