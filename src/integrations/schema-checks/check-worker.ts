import { getHeapStatistics } from "node:v8";
import { parentPort } from "node:worker_threads";
import { parseJson, type JsonObject } from "../../json.ts";
import { compileSchema, type SchemaCheck } from "./compile-schema.ts";

/** A check sent to a worker thread. */
export interface CheckRequest {
  readonly digest: string;
  /** Absent if this thread has compiled the digest before. */
  readonly schema?: JsonObject | undefined;
  /** The value as JSON, because copying it as objects takes the main thread ten times as long. */
  readonly text: string;
  /** Whether to drop all compiled schemas. */
  readonly forget: boolean;
}

/** Messages of a worker thread: ready, schema compiled, result. */
export type CheckReport =
  | { readonly kind: "ready" | "compiled" }
  | {
      readonly kind: "checked";
      readonly problem: string | undefined;
      /** CPU time used by the thread so far, in microseconds. */
      readonly cpuUs: number;
      readonly heapBytes: number;
    };

const compiled = new Map<string, SchemaCheck>();

function report(message: CheckReport): void {
  parentPort?.postMessage(message);
}

function checkFor({ digest, schema }: CheckRequest): SchemaCheck {
  const known = compiled.get(digest);
  if (known !== undefined) return known;
  if (schema === undefined) throw new Error("the schema is missing and was not compiled before");
  const check = compileSchema(schema);
  compiled.set(digest, check);
  report({ kind: "compiled" });
  return check;
}

parentPort?.on("message", (request: CheckRequest) => {
  if (request.forget) compiled.clear();
  const problem = checkFor(request)(parseJson(request.text, { maxDepth: Infinity }));
  const { user, system } = process.threadCpuUsage();
  report({ kind: "checked", problem, cpuUs: user + system, heapBytes: getHeapStatistics().used_heap_size });
});

// Loads the compiler before the first check.
compileSchema({ type: "object", properties: { text: { type: "string", pattern: "^a" } } })({ text: "b" });
report({ kind: "ready" });
