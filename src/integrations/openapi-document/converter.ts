import { Worker } from "node:worker_threads";
import { DomainError } from "../../domain-error.ts";
import { OpenApiError } from "../openapi/document.ts";
import type { ConversionAnswer } from "./convert-worker.ts";
import type { ConvertedDocument } from "./convert.ts";

/** Converts documents of strangers. */
export interface DocumentConverter {
  /**
   * Throws OpenApiError for a document that cannot be used, or takes too long or too much memory to read, and DomainError
   * `exhausted` when too many wait.
   */
  convert(text: string): Promise<ConvertedDocument>;
}

/** How long a conversion may take and how much memory. */
export interface ConverterLimits {
  readonly timeoutMs: number;
  readonly maxHeapMb: number;
}

const LIMITS: ConverterLimits = { timeoutMs: 10_000, maxHeapMb: 512 };
const MAX_WAITING = 50;

/**
 * A converter in threads of their own, one at a time: reading GitHub's document would stop everything else for half a
 * second, and one that is made to be slow for good.
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
  });
  const { promise, resolve, reject } = Promise.withResolvers<ConversionAnswer>();
  const timer = setTimeout(
    () => reject(new OpenApiError(`takes longer than ${limits.timeoutMs / 1000} seconds to read`)),
    limits.timeoutMs,
  );
  worker.once("message", (answer: ConversionAnswer) => resolve(answer));
  worker.once("error", (error: unknown) => reject(outOfMemory(error) ?? error));
  worker.once("exit", () => reject(new Error("the conversion ended without an answer")));
  try {
    const answer = await promise;
    if ("fault" in answer) throw new OpenApiError(answer.fault);
    return answer.converted;
  } finally {
    clearTimeout(timer);
    await worker.terminate();
  }
}

function outOfMemory(error: unknown): OpenApiError | undefined {
  const isMemory = error instanceof Error && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY";
  return isMemory ? new OpenApiError("takes too much memory to read") : undefined;
}
