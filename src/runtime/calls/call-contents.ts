import type { Scrubber } from "../../integrations/scrub.ts";
import type { CallResult } from "../../integrations/tool.ts";
import { isJsonObject, parseJson, printJson, type JsonObject } from "../../json.ts";
import type { CallRecord, StoredCall } from "./call-record.ts";
import { createJsonCutter, type JsonCutter } from "./cut-json.ts";

/** Limit for the arguments and for the result, in characters, approximately as JSON counts them. */
export const MAX_KEPT_CHARACTERS = 64 * 1024;
/** Deeper than every text that `cut-json.ts` shortened, with the object around it. */
const MAX_DEPTH = 64;

export interface StoredResult {
  readonly content: readonly JsonObject[];
  readonly isError: boolean;
  readonly structuredContent?: JsonObject;
}

/** The payloads of a call, without the secrets of its connection and shortened to their limits. */
export interface CallContents {
  readonly args: JsonObject;
  readonly areArgsCut: boolean;
  /** Undefined when the call was canceled or failed within the service. */
  readonly result: StoredResult | undefined;
  readonly isResultCut: boolean;
}

/** A call with its payloads as JSON, ready to be encrypted. */
export interface CallWithContents extends CallRecord {
  /** The text that `printContents` returns. */
  readonly contents: string;
}

/** Encrypted call contents. Throws DomainError `unavailable` when the database cannot be reached. */
export interface CallContentsStore {
  /** Writes all records whose connection exists, and the contents of those whose connection still keeps contents. */
  append(records: readonly CallWithContents[]): Promise<void>;
}

/** A call with its payloads and the latest time at which they are deleted. */
export interface StoredCallContents {
  readonly call: StoredCall;
  readonly contents: CallContents;
  readonly keptUntil: Date;
}

/**
 * Reads contents of existing connections that keep them. Throws DomainError `unavailable` when the database cannot be
 * reached.
 */
export interface CallContentsReader {
  /**
   * Returns undefined for a call that is missing, belongs to another connection or account, or has no stored contents.
   */
  find(accountId: string, connectionId: number, callId: number): Promise<StoredCallContents | undefined>;
}

/** Removes secrets from the payloads and shortens them. The cost is bounded, however large they are. */
export function prepareContents(args: JsonObject, result: CallResult | undefined, scrubber: Scrubber): CallContents {
  const argsCutter = createJsonCutter(MAX_KEPT_CHARACTERS, (text) => scrubber.text(text));
  const resultCutter = createJsonCutter(MAX_KEPT_CHARACTERS, (text) => scrubber.text(text));
  return {
    args: argsCutter.copyObject(args),
    areArgsCut: argsCutter.isCut(),
    result: result && copyResult(result, resultCutter, scrubber),
    isResultCut: resultCutter.isCut(),
  };
}

function copyResult(
  { content, isError, structuredContent }: CallResult,
  cutter: JsonCutter,
  scrubber: Scrubber,
): StoredResult {
  const blocks: JsonObject[] = [];
  for (const block of content) {
    if (cutter.left() > 0) blocks.push(copyBlock(block, cutter, scrubber));
    else cutter.markCut();
  }
  if (structuredContent === undefined) return { content: blocks, isError };
  if (cutter.left() > 0) return { content: blocks, isError, structuredContent: cutter.copyObject(structuredContent) };
  cutter.markCut();
  return { content: blocks, isError };
}

/**
 * Binary data is stored completely or not at all: part of an image is useless, and secrets in bytes cannot be redacted.
 */
function copyBlock(block: JsonObject, cutter: JsonCutter, scrubber: Scrubber): JsonObject {
  const { resource } = block;
  const bytes = isJsonObject(resource) ? resource["blob"] : block["data"];
  if (typeof bytes !== "string") return cutter.copyObject(block);
  if (bytes.length <= cutter.left() && !scrubber.isInBytes(Buffer.from(bytes, "base64")))
    return cutter.copyObject(block);
  cutter.markCut();
  const kind = typeof block["type"] === "string" ? block["type"].slice(0, 32) : "block";
  return { type: "text", text: `[${kind} of ${Math.ceil((bytes.length * 3) / 4 / 1024)} kB, not kept]` };
}

/** Keeps all digits of numbers. */
export function printContents({ args, areArgsCut, result, isResultCut }: CallContents): string {
  return printJson({
    args,
    areArgsCut,
    isResultCut,
    ...(result === undefined ? {} : { result: toJson(result) }),
  });
}

function toJson({ content, isError, structuredContent }: StoredResult): JsonObject {
  return {
    content: [...content],
    isError,
    ...(structuredContent === undefined ? {} : { structuredContent }),
  };
}

/** Parses the text of `printContents`. Throws SyntaxError for anything else. */
export function parseContents(text: string): CallContents {
  const value = parseJson(text, { maxDepth: MAX_DEPTH });
  if (!isJsonObject(value) || !isJsonObject(value["args"])) throw new SyntaxError("stored call contents are malformed");
  const { args, areArgsCut, result, isResultCut } = value;
  return {
    args,
    areArgsCut: areArgsCut === true,
    result: isJsonObject(result) ? parseResult(result) : undefined,
    isResultCut: isResultCut === true,
  };
}

function parseResult({ content, isError, structuredContent }: JsonObject): StoredResult {
  return {
    content: Array.isArray(content) ? content.filter((block): block is JsonObject => isJsonObject(block)) : [],
    isError: isError === true,
    ...(isJsonObject(structuredContent) ? { structuredContent } : {}),
  };
}
