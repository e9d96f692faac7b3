import { setImmediate } from "node:timers/promises";
import { deserialize } from "node:v8";
import { Worker } from "node:worker_threads";
import { DomainError } from "../../domain-error.ts";
import { OpenApiError } from "../openapi/model/document.ts";
import type { ConversionAnswer } from "./convert-worker.ts";
import type { Operation } from "../openapi/model/operation.ts";
import type { ConvertedDocument } from "./convert.ts";
import { createSharedDefinitions } from "./shared-definitions.ts";

export interface DocumentConverter {
  /**
   * Throws OpenApiError for an unusable, slow or too large document, and DomainError `exhausted` when too many are
   * waiting.
   */
  convert(text: string): Promise<ConvertedDocument>;
}

export interface ConverterLimits {
  readonly timeoutMs: number;
  readonly maxHeapMb: number;
}

const LIMITS: ConverterLimits = { timeoutMs: 10_000, maxHeapMb: 512 };
const MAX_WAITING = 50;

/**
 * Converts one document at a time in a worker thread, because GitHub's document would block the main thread for half
 * a second.
 */
export function createDocumentConverter(limits: ConverterLimits = LIMITS): DocumentConverter {
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  return {
    async convert(text) {
      if (waiting >= MAX_WAITING)
        throw new DomainError("exhausted", "Too many documents are being read. Try again in a moment.", {
          retryAfterSeconds: 5,
        });
      waiting += 1;
      const next = last.then(() => run(text, limits)).finally(() => (waiting -= 1));
      last = next.catch(() => undefined);
      return next;
    },
  };
}

async function run(text: string, limits: ConverterLimits): Promise<ConvertedDocument> {
  const worker = new Worker(new URL("./convert-worker.ts", import.meta.url), {
    workerData: text,
    resourceLimits: { maxOldGenerationSizeMb: limits.maxHeapMb },
    env: {},
    // What is preloaded into the service is not meant for its threads.
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
