import {
  type Compilable,
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
} from "kysely";
import type pg from "pg";
import type { Tables } from "../orm.ts";
import type { StatementResult, StatementRunner } from "../pool/reads.ts";
import { runStatement } from "../stores/run-statement.ts";

/** Builds statements without a database connection. */
const builder = new Kysely<Tables>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (database) => new PostgresIntrospector(database),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
});

/** Stands for an argument while a statement is built. */
class Argument {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/** A statement that PostgreSQL parses and plans once per connection. Driver errors are translated. */
export type Prepared<Arguments, Row extends pg.QueryResultRow> = (
  runner: StatementRunner,
  given: Arguments,
) => Promise<StatementResult<Row>>;

/**
 * Builds a statement once, under a unique name. `build` receives a placeholder for each argument; every use of a
 * placeholder becomes a parameter of the statement.
 */
export function prepare<Arguments extends object, Row extends pg.QueryResultRow>(
  name: string,
  build: (tables: Kysely<Tables>, given: Arguments) => Compilable<Row>,
): Prepared<Arguments, Row> {
  const standIns = new Proxy({}, { get: (_, argument) => new Argument(String(argument)) });
  // eslint-disable-next-line @typescript-eslint/no-unsafe-type-assertion -- the builder passes values through untouched.
  const { sql: text, parameters } = build(builder, standIns as Arguments).compile();
  const places = parameters.map((parameter) => (parameter instanceof Argument ? parameter.name : { parameter }));
  return (runner, given) =>
    runStatement<Row>(runner, {
      name,
      text,
      values: places.map((place) => (typeof place === "string" ? Reflect.get(given, place) : place.parameter)),
    });
}
