import { parentPort, workerData } from "node:worker_threads";
import { OpenApiError } from "../openapi/document.ts";
import { convertDocument, type ConvertedDocument } from "./convert.ts";

/** What the thread sends back. */
export type ConversionAnswer = { readonly converted: ConvertedDocument } | { readonly fault: string };

// A thread: converts the one document that it was given.
parentPort?.postMessage(answer(String(workerData)));

function answer(text: string): ConversionAnswer {
  try {
    return { converted: convertDocument(text) };
  } catch (error) {
    if (error instanceof OpenApiError) return { fault: error.message };
    // Nesting without end: the document's fault, not ours.
    if (error instanceof RangeError) return { fault: "is nested too deep" };
    throw error;
  }
}
