import type { Scrubber } from "../../integrations/scrub.ts";
import type { CallResult } from "../../integrations/tool.ts";
import { isJsonObject, parseJson, printJson, type JsonObject } from "../../json.ts";
import type { CallRecord, StoredCall } from "./call-record.ts";
import { createJsonCutter, type JsonCutter } from "./cut-json.ts";

/** How many characters of the arguments are kept, and of the result, about as JSON counts them. */
export const MAX_KEPT_CHARACTERS = 64 * 1024;
/** Deeper than the cutter lets anything be, with what is put around it. */
const MAX_DEPTH = 64;

/** What a tool answered, as it is kept. */
export interface StoredResult {
  readonly content: readonly JsonObject[];
  readonly isError: boolean;
  readonly structuredContent?: JsonObject;
}

/** What was said in a call, without the secrets of its connection, and cut where it was too large. */
export interface CallContents {
  readonly args: JsonObject;
  readonly areArgsCut: boolean;
  /** Undefined where there was none: the caller gave up, or we failed. */
  readonly result: StoredResult | undefined;
  readonly isResultCut: boolean;
}

/** A call with what was said in it as JSON, ready to be sealed. */
export interface CallWithContents extends CallRecord {
  /** As `printContents` writes it. */
  readonly contents: string;
}

/** The contents at rest, sealed. Throws DomainError `unavailable` when the database cannot be reached. */
export interface CallContentsStore {
  /** Writes all records whose connection still exists, with the contents of those whose connection still keeps them. */
  append(records: readonly CallWithContents[]): Promise<void>;
}

/** A call with what was said in it, and until when that is kept at most. */
export interface StoredCallContents {
  readonly call: StoredCall;
  readonly contents: CallContents;
  readonly keptUntil: Date;
}

/** The contents to read, of connections that exist and keep them. Throws DomainError `unavailable` when the database cannot be reached. */
export interface CallContentsReader {
  /** Undefined for a call that is missing, of another connection or account, not kept or not kept any more. */
  find(accountId: string, connectionId: number, callId: number): Promise<StoredCallContents | undefined>;
}

/** Prepares what was said in a call for keeping. Costs what is kept, however large the call was. */
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

/** Half an image is none, and bytes that hold a secret cannot be redacted: such a block is named in place of itself. */
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

/** The contents as text, every digit kept. */
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

/** The contents that `printContents` wrote. Throws SyntaxError for anything else. */
export function parseContents(text: string): CallContents {
  const value = parseJson(text, { maxDepth: MAX_DEPTH });
  if (!isJsonObject(value) || !isJsonObject(value["args"]))
    throw new SyntaxError("what was kept of a call is no such thing");
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
