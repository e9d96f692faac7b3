import { type Dispatcher, fetch as undiciFetch } from "undici";
import { isJsonObject, parseJson } from "../../../json.ts";
import { parseDocument, publishedToProvider } from "./client-metadata.ts";

/** Maximum size in bytes of a client's metadata document or keys. */
const MAX_BYTES = 64 * 1_024;

async function readAtMost(body: AsyncIterable<Uint8Array> | null): Promise<string> {
  const chunks: Uint8Array[] = [];
  let received = 0;
  for await (const chunk of body ?? []) {
    received += chunk.length;
    if (received > MAX_BYTES) throw new Error(`a client's document has at most ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** Reduces metadata to the supported fields before the provider reads it. A document of keys is unchanged. */
function allowListed(text: string): string {
  const document = parseJson(text, { maxDepth: 8 });
  if (!isJsonObject(document) || typeof document["client_id"] !== "string") return text;
  return JSON.stringify(publishedToProvider(document["client_id"], parseDocument(document)));
}

/**
 * Fetches documents of clients (Client ID Metadata Documents, `jwks_uri`) through the guarded dispatcher: no private
 * address, no redirect, no identification of the requester.
 */
export function createDocumentFetch(dispatcher: Dispatcher): typeof fetch {
  return async (input, options) => {
    const address = input instanceof Request ? input.url : String(input);
    const signal = options?.signal ?? AbortSignal.timeout(2_500);
    const headers = { accept: "application/json" };
    const response = await undiciFetch(address, { dispatcher, signal, redirect: "manual", headers });
    const answered = { status: response.status, headers: Object.fromEntries(cachingHeaders(response.headers)) };
    if (response.status !== 200) {
      await response.body?.cancel();
      return new Response(null, { ...answered, status: response.status < 200 ? 502 : response.status });
    }
    return new Response(allowListed(await readAtMost(response.body)), answered);
  };
}

function cachingHeaders(headers: { get(name: string): string | null }): [string, string][] {
  return ["cache-control", "expires", "content-type"].flatMap((name): [string, string][] => {
    const value = headers.get(name);
    return value === null ? [] : [[name, value]];
  });
}
