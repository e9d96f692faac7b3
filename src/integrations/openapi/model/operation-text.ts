import type { ToolDefinition } from "../../tool.ts";
import type { BodyPlan, Operation, ServerPlan } from "./operation.ts";

/** JSON form of an operation: maps are lists of entries. */
interface KeptPlan extends Omit<Operation, "tool" | "server" | "body"> {
  readonly server: Omit<ServerPlan, "defaults"> & { readonly defaults: readonly (readonly [string, string])[] };
  readonly body?: Omit<BodyPlan, "fields"> & {
    readonly fields: readonly (readonly [
      string,
      BodyPlan["fields"] extends ReadonlyMap<string, infer F> ? F : never,
    ])[];
  };
}

/** Serializes an operation without its tool. */
export function printPlan({ tool: _, server, body, ...rest }: Operation): string {
  const plan: KeptPlan = {
    ...rest,
    server: { ...server, defaults: [...server.defaults] },
    ...(body && { body: { ...body, fields: [...body.fields] } }),
  };
  return JSON.stringify(plan);
}

/** The only place where text of `printPlan` becomes an Operation again. */
export function parsePlan(tool: ToolDefinition, text: string): Operation {
  // eslint-disable-next-line @typescript-eslint/no-unsafe-type-assertion -- the one place that may: it reads our own text.
  const { server, body, ...rest } = JSON.parse(text) as KeptPlan;
  return {
    ...rest,
    tool,
    server: { ...server, defaults: new Map(server.defaults) },
    body: body && { ...body, fields: new Map(body.fields) },
  };
}
