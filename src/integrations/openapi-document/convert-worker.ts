import { serialize } from "node:v8";
import { parentPort, workerData } from "node:worker_threads";
import { OpenApiError } from "../openapi/model/document.ts";
import type { Operation } from "../openapi/model/operation.ts";
import { convertDocument, type ConvertedDocument } from "./convert.ts";

/** The messages of the worker: serialized operations in parts, then the rest of the document or its fault. */
export type ConversionAnswer =
  | { readonly part: Uint8Array }
  | { readonly converted: Omit<ConvertedDocument, "operations"> }
  | { readonly fault: string };

/** Maximum size of a part in bytes, unless one operation is larger. The main thread reads one part at a time. */
const MAX_PART_BYTES = 256 * 1024;
/** Maximum size of one operation, in bytes. */
const MAX_OPERATION_BYTES = 2 * 1024 * 1024;
/** Maximum size of all operations, in bytes. GitHub's take 30 MB. */
const MAX_TOTAL_BYTES = 128 * 1024 * 1024;

function sendParts(operations: readonly Operation[]): number {
  if (operations.length === 0) return 0;
  const bytes = serialize(operations);
  if (bytes.length > MAX_PART_BYTES && operations.length > 1) {
    const middle = operations.length >> 1;
    return sendParts(operations.slice(0, middle)) + sendParts(operations.slice(middle));
  }
  if (bytes.length > MAX_OPERATION_BYTES)
    throw new OpenApiError(`has an operation, ${operations[0]?.tool.name ?? ""}, that is larger than 2 MiB`);
  // A copy, because small buffers share memory that must not be transferred.
  const part = Uint8Array.from(bytes);
  parentPort?.postMessage({ part } satisfies ConversionAnswer, [part.buffer]);
  return part.length;
}

function answer(text: string): ConversionAnswer {
  try {
    const { operations, ...converted } = convertDocument(text);
    let total = 0;
    for (let start = 0; start < operations.length; start += 32) {
      total += sendParts(operations.slice(start, start + 32));
      if (total > MAX_TOTAL_BYTES) throw new OpenApiError("has operations that take more than 128 MiB of memory");
    }
    return { converted };
  } catch (error) {
    if (error instanceof OpenApiError) return { fault: error.message };
    // Unbounded nesting is the document's fault.
    if (error instanceof RangeError) return { fault: "is nested too deep" };
    throw error;
  }
}

parentPort?.postMessage(answer(String(workerData)));
