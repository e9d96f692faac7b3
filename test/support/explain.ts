import type pg from "pg";

interface Sent {
  readonly text: string;
  readonly values?: readonly unknown[];
}

export interface PlanNode {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Index Name"?: string;
  readonly "Actual Loops"?: number;
  readonly Plans?: readonly PlanNode[];
}

/** Runs `work` on the pool and returns the plans of its statements without nodes that never ran. */
export async function explain(
  pool: pg.Pool,
  work: (pool: pg.Pool) => Promise<unknown>,
): Promise<readonly (readonly PlanNode[])[]> {
  const plans: PlanNode[][] = [];
  const plan = async ({ text, values = [] }: Sent): Promise<void> => {
    if (!/^(begin|commit|rollback)$/.test(text)) plans.push(await planOf(pool, text, values));
  };
  const spy = new Proxy(pool, {
    get: (target, property) => {
      if (property === "query")
        return async (sent: Sent) => {
          await plan(sent);
          return target.query({ text: sent.text, values: [...(sent.values ?? [])] });
        };
      if (property === "connect") return async () => spyOn(await target.connect());
      return Reflect.get(target, property);
    },
  });
  // The mapper takes a client of the pool for each statement, and gives it the text and the values.
  const spyOn = (client: pg.PoolClient): pg.PoolClient => {
    const heir: pg.PoolClient = Object.create(client);
    return new Proxy(heir, {
      get: (_, property) => {
        if (property === "query")
          return async (text: string, values: readonly unknown[]) => {
            await plan({ text, values });
            return client.query(text, [...values]);
          };
        const value: unknown = Reflect.get(client, property);
        return typeof value === "function"
          ? (...given: unknown[]) => Reflect.apply(value, client, given) as unknown
          : value;
      },
    });
  };
  await work(spy);
  return plans;
}

/** Executes the statement once and rolls it back. */
async function planOf(pool: pg.Pool, text: string, values: readonly unknown[]): Promise<PlanNode[]> {
  const client = await pool.connect();
  try {
    await client.query("begin");
    const { rows } = await client.query<{ "QUERY PLAN": readonly { readonly Plan: PlanNode }[] }>({
      text: `explain (analyze, costs off, timing off, format json) ${text}`,
      values: [...values],
    });
    await client.query("rollback");
    return (rows[0]?.["QUERY PLAN"] ?? []).flatMap(({ Plan }) => nodesOf(Plan));
  } finally {
    client.release();
  }
}

function nodesOf(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)].filter((each) => each["Actual Loops"] !== 0);
}

export function indexesIn(plans: readonly (readonly PlanNode[])[]): ReadonlySet<string> {
  return new Set(plans.flat().flatMap((node) => node["Index Name"] ?? []));
}

/** The tables with sequential scans. */
export function scannedIn(plans: readonly (readonly PlanNode[])[]): ReadonlySet<string> {
  return new Set(
    plans.flat().flatMap((node) => (node["Node Type"] === "Seq Scan" ? (node["Relation Name"] ?? []) : [])),
  );
}
