import { readFile } from "node:fs/promises";
import type { Config } from "../config.ts";

export async function readTls(
  tls: NonNullable<Config["tls"]>,
): Promise<{ readonly cert: Buffer; readonly key: Buffer }> {
  const [cert, key] = await Promise.all([readFile(tls.certFile), readFile(tls.keyFile)]);
  return { cert, key };
}
