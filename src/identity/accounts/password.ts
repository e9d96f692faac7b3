import { argon2, type Argon2Parameters, randomBytes, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";

const argon2Async = promisify(argon2);

/** OWASP's first recommendation for argon2id: 19 MiB, two passes, one thread. */
const COST = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 } as const;

const STORED = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,2})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

function unpadded(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64").replaceAll("=", "");
}

/** No password matches this hash, and checking against it takes as long as a real check. */
export const NO_PASSWORD_HASH = `$argon2id$v=19$m=${COST.memory},t=${COST.passes},p=${COST.parallelism}$${"A".repeat(22)}$${"A".repeat(43)}`;

/** Returns an argon2id hash in the PHC string format, which includes its cost parameters. */
export async function hashPassword(password: string): Promise<string> {
  const nonce = randomBytes(16);
  const tag = await argon2Async("argon2id", { ...COST, message: password, nonce });
  const { memory, passes, parallelism } = COST;
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${unpadded(nonce)}$${unpadded(tag)}`;
}

/** Returns false for a stored text in an unknown format. */
export async function verifyPassword(stored: string, password: string): Promise<boolean> {
  const [, memory, passes, parallelism, nonce, tag] = STORED.exec(stored) ?? [];
  if (nonce === undefined || tag === undefined) return false;
  const expected = Buffer.from(tag, "base64");
  const parameters: Argon2Parameters = {
    message: password,
    nonce: Buffer.from(nonce, "base64"),
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    tagLength: expected.length,
  };
  return timingSafeEqual(await argon2Async("argon2id", parameters), expected);
}
