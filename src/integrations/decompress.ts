import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate } from "node:zlib";

const DECODERS: ReadonlyMap<string, (body: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>> = new Map([
  ["gzip", promisify(gunzip)],
  ["x-gzip", promisify(gunzip)],
  ["deflate", promisify(inflate)],
  ["br", promisify(brotliDecompress)],
]);

export type DecompressionFailure = "too_large" | "not_readable";

/** Removes the `Content-Encoding` of a body. The result has at most `maxBytes` bytes. */
export async function decompress(
  body: Buffer,
  contentEncoding: string,
  maxBytes: number,
): Promise<Buffer | DecompressionFailure> {
  const encodings = contentEncoding
    .toLowerCase()
    .split(",")
    .map((word) => word.trim());
  let plain = body;
  // Encodings are listed in the order they were applied.
  for (const encoding of encodings.reverse()) {
    if (encoding === "" || encoding === "identity" || plain.length === 0) continue;
    const decoder = DECODERS.get(encoding);
    if (decoder === undefined) return "not_readable";
    try {
      plain = await decoder(plain, { maxOutputLength: maxBytes });
    } catch (error) {
      return error instanceof RangeError ? "too_large" : "not_readable";
    }
  }
  return plain;
}
