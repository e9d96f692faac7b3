import { isUtf8 } from "node:buffer";
import { isJsonObject } from "../../../json.ts";
import { errorResult, type CallResult } from "../../tool.ts";
import { charsetOf, essenceOf, isJsonType, isTextType } from "../model/media-type.ts";
import { encode } from "../../percent-encode.ts";
import type { Scrubber } from "../../scrub.ts";

/** Deeper JSON is returned as text only (DESIGN §8). */
const MAX_DEPTH = 32;

export interface SuccessfulAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** The integration's title, for messages. */
  readonly title: string;
  /** Names unnamed bytes, for example `bamboohr/get_employee_file`. */
  readonly place: string;
  /** The tool promises `structuredContent`. */
  readonly hasOutputSchema: boolean;
}

/**
 * Converts an upstream's success to MCP content: JSON as text and `structuredContent`, text unchanged, images and
 * audio as such, other bytes as an embedded resource.
 */
export function contentOf(answer: SuccessfulAnswer, scrubber: Scrubber): CallResult {
  const { body, headers } = answer;
  if (body.length === 0) return emptyResult(answer, scrubber);
  const contentType = headers["content-type"];
  const kind = kindOf(contentType, body);
  if (kind === "json") return jsonResult(answer, scrubber);
  if (kind === "text") return textResult(answer, scrubber.text(decode(body, contentType)));
  if (scrubber.isInBytes(body))
    return errorResult(`${answer.title} sent the connection's key back. Its answer is withheld.`, "other");
  const mimeType = kind === "bytes" ? essenceOf(contentType) || "application/octet-stream" : kind.mimeType;
  const encoded = body.toString("base64");
  const [family] = mimeType.split("/", 1);
  if (family === "image" || family === "audio")
    return withStructuredContent(answer, { content: [{ type: family, data: encoded, mimeType }], isError: false });
  const name = fileName(headers["content-disposition"]);
  const uri = `patchbay://${answer.place}/${encode(scrubber.text(name))}`;
  return withStructuredContent(answer, {
    content: [{ type: "resource", resource: { uri, mimeType, blob: encoded } }],
    isError: false,
  });
}

function emptyResult(answer: SuccessfulAnswer, scrubber: Scrubber): CallResult {
  const { location } = answer.headers;
  // Responses to creations often contain only a `Location`.
  const where = location === undefined ? "" : ` Location: ${scrubber.text(location)}`;
  return textResult(answer, `Done (${answer.status}).${where}`);
}

function jsonResult(answer: SuccessfulAnswer, scrubber: Scrubber): CallResult {
  const text = scrubber.text(decode(answer.body, answer.headers["content-type"]));
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    const start = text.length > 500 ? `${text.slice(0, 500)}…` : text;
    return errorResult(
      `${answer.title} answered ${answer.status} with a body that is not valid JSON, perhaps cut short. Nothing is known of the result. It begins: ${start}`,
      "other",
    );
  }
  const { location } = answer.headers;
  const where = answer.status === 201 && location !== undefined ? [`Location: ${scrubber.text(location)}`] : [];
  const content = [text, ...where].map((block) => ({ type: "text", text: block }));
  return withStructuredContent(answer, {
    content,
    isError: false,
    ...(isJsonObject(value) && !isDeeper(value, MAX_DEPTH) ? { structuredContent: value } : {}),
  });
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}

function textResult(answer: SuccessfulAnswer, text: string): CallResult {
  return withStructuredContent(answer, { content: [{ type: "text", text }], isError: false });
}

/** MCP requires `structuredContent` from tools with an output schema; an empty object fits all of ours. */
function withStructuredContent(answer: SuccessfulAnswer, result: CallResult): CallResult {
  return answer.hasOutputSchema && result.structuredContent === undefined
    ? { ...result, structuredContent: {} }
    : result;
}

type Kind = "json" | "text" | "bytes" | { readonly mimeType: string };

function kindOf(contentType: string | undefined, body: Buffer): Kind {
  const essence = essenceOf(contentType);
  if (isJsonType(essence)) return "json";
  if (isTextType(essence)) return "text";
  // Some vendors label every image as JPEG, and clients reject an image with a wrong type.
  const picture = pictureType(body);
  if (essence.startsWith("image/") && picture !== undefined) return { mimeType: picture };
  if (essence !== "") return "bytes";
  if (picture !== undefined) return { mimeType: picture };
  if (!isUtf8(body) || body.includes(0)) return "bytes";
  return /^\s*[[{]/.test(body.toString("latin1", 0, 64)) ? "json" : "text";
}

const SIGNATURES: readonly (readonly [string, string])[] = [
  ["image/png", "89504e470d0a1a0a"],
  ["image/jpeg", "ffd8ff"],
  ["image/gif", "47494638"],
];

function pictureType(body: Buffer): string | undefined {
  const start = body.toString("hex", 0, 12);
  if (start.startsWith("52494646") && start.endsWith("57454250")) return "image/webp";
  return SIGNATURES.find(([, signature]) => start.startsWith(signature))?.[0];
}

function fileName(disposition: string | undefined): string {
  const plain = /filename\s*=\s*(?:"([^"]*)"|([^\s;]+))/i.exec(disposition ?? "");
  return plain?.[1] ?? plain?.[2] ?? "content";
}

/** Decodes text; invalid bytes become U+FFFD. */
export function decode(body: Buffer, contentType: string | undefined): string {
  const charset = charsetOf(contentType).toLowerCase();
  if (charset === "utf-8" || charset === "utf8") return body.toString("utf8").replace(/^\uFEFF/, "");
  try {
    return new TextDecoder(charset).decode(body);
  } catch {
    return body.toString("utf8");
  }
}
