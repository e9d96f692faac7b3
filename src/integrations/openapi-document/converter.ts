import { setImmediate } from "node:timers/promises";
import { deserialize } from "node:v8";
import { Worker } from "node:worker_threads";
import { DomainError } from "../../domain-error.ts";
import { OpenApiError } from "../openapi/model/document.ts";
import type { ConversionAnswer } from "./convert-worker.ts";
import type { Operation } from "../openapi/model/operation.ts";
import type { ConvertedDocument } from "./convert.ts";
import { createTenantQueue } from "../schema-checks/tenant-queue.ts";
import { createSharedDefinitions } from "./shared-definitions.ts";

/** Converts documents that upstreams and accounts supply. */
export interface DocumentConverter {
  /**
   * Throws OpenApiError for a document that is invalid, or takes too long or too much memory to convert, and
   * DomainError `exhausted` when too many wait.
   */
  convert(tenant: string, text: string): Promise<ConvertedDocument>;
}

/** How much one conversion may take, and how many documents may wait. */
export interface ConverterLimits {
  readonly timeoutMs: number;
  readonly maxHeapMb: number;
  readonly maxWaiting: { readonly perTenant: number; readonly total: number };
}

const LIMITS: ConverterLimits = { timeoutMs: 10_000, maxHeapMb: 512, maxWaiting: { perTenant: 5, total: 50 } };

/**
 * Converts one document at a time, each in a new thread, with tenants taking turns: GitHub's document takes half a
 * second, and a hostile one takes the whole time limit.
 */
export function createDocumentConverter(changes: Partial<ConverterLimits> = {}): DocumentConverter {
  const limits = { ...LIMITS, ...changes };
  const queue = createTenantQueue<() => Promise<void>>(limits.maxWaiting);
  let isRunning = false;

  async function work(): Promise<void> {
    if (isRunning) return;
    isRunning = true;
    for (let next = queue.take(); next !== undefined; next = queue.take()) {
      await next.item();
      queue.finish(next.tenant);
    }
    isRunning = false;
  }

  return {
    async convert(tenant, text) {
      const { promise, resolve, reject } = Promise.withResolvers<ConvertedDocument>();
      if (!queue.add(tenant, () => run(text, limits).then(resolve, reject))) throw tooManyDocuments();
      void work();
      return promise;
    },
  };
}

function tooManyDocuments(): DomainError {
  return new DomainError("exhausted", "Too many documents are being read. Try again in a moment.", {
    retryAfterSeconds: 5,
  });
}

async function run(text: string, limits: ConverterLimits): Promise<ConvertedDocument> {
  const worker = new Worker(new URL("./convert-worker.ts", import.meta.url), {
    workerData: text,
    resourceLimits: { maxOldGenerationSizeMb: limits.maxHeapMb },
    env: {},
    // Modules preloaded into the service are not loaded into its threads.
    execArgv: [],
  });
  const { promise, resolve, reject } = Promise.withResolvers<Exclude<ConversionAnswer, { part: Uint8Array }>>();
  const parts: Uint8Array[] = [];
  const timer = setTimeout(
    () => reject(new OpenApiError(`takes longer than ${limits.timeoutMs / 1000} seconds to read`)),
    limits.timeoutMs,
  );
  worker.on("message", (answer: ConversionAnswer) => {
    if ("part" in answer) parts.push(answer.part);
    else resolve(answer);
  });
  worker.once("error", (error: unknown) => reject(outOfMemory(error) ?? error));
  worker.once("exit", () => reject(new Error("the conversion ended without an answer")));
  try {
    const answer = await promise;
    if ("fault" in answer) throw new OpenApiError(answer.fault);
    return { ...answer.converted, operations: await readParts(parts) };
  } finally {
    clearTimeout(timer);
    await worker.terminate();
  }
}

/** Yields between parts: a large document takes a second in total. */
async function readParts(parts: readonly Uint8Array[]): Promise<readonly Operation[]> {
  const operations: Operation[] = [];
  const definitions = createSharedDefinitions();
  for (const part of parts) {
    for (const operation of operationsIn(part)) operations.push(definitions.share(operation));
    await setImmediate();
  }
  return operations;
}

/** The only place where serialized operations become operations again. */
function operationsIn(part: Uint8Array): readonly Operation[] {
  // eslint-disable-next-line @typescript-eslint/no-unsafe-type-assertion -- the one place that may, for the reason above.
  return deserialize(part) as readonly Operation[];
}

function outOfMemory(error: unknown): OpenApiError | undefined {
  const isMemory = error instanceof Error && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY";
  return isMemory ? new OpenApiError("takes too much memory to read") : undefined;
}
