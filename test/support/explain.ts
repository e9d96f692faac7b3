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
  const spy = new Proxy(pool, {
    get: (target, property) =>
      property === "query"
        ? async ({ text, values = [] }: Sent) => {
            plans.push(await planOf(target, text, values));
            return target.query({ text, values: [...values] });
          }
        : Reflect.get(target, property),
  });
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
