import { createHash } from "node:crypto";

const MAX_LENGTH = 64;

export interface NamedOperation {
  readonly operationId: string | undefined;
  /** Upper case. */
  readonly method: string;
  readonly path: string;
}

/**
 * Names each operation as `^[A-Za-z0-9_-]{1,64}$`, in order. A name depends only on its operation, so it stays when the
 * document grows; only colliding names that needed cleaning get a hash.
 */
export function toolNames(operations: readonly NamedOperation[]): readonly string[] {
  const wanted = operations.map(wantedName);
  const claims = new Map<string, number>();
  for (const { name } of wanted) claims.set(name, (claims.get(name) ?? 0) + 1);
  const exact = new Map<string, number>();
  for (const { name, isExact } of wanted) if (isExact) exact.set(name, (exact.get(name) ?? 0) + 1);
  return wanted.map(({ name, isExact, identity }) => {
    if (claims.get(name) === 1) return name;
    return isExact && exact.get(name) === 1 ? name : withHash(name, identity);
  });
}

function wantedName(operation: NamedOperation): { name: string; isExact: boolean; identity: string } {
  const identity = `${operation.method} ${operation.path}`;
  const source = operation.operationId ?? identity.toLowerCase().replaceAll(/[{}]/g, "");
  const clean = source.replaceAll(/[^A-Za-z0-9_-]+/g, "_").replaceAll(/^_+|(?<!_)_+$/g, "");
  if (clean === source && clean.length <= MAX_LENGTH) return { name: clean, isExact: true, identity };
  if (clean.length > MAX_LENGTH || clean === "") return { name: withHash(clean, source), isExact: false, identity };
  return { name: clean, isExact: false, identity };
}

function withHash(name: string, identity: string): string {
  const hash = createHash("sha256").update(identity).digest("hex").slice(0, 8);
  return name === "" ? `tool_${hash}` : `${name.slice(0, MAX_LENGTH - hash.length - 1)}_${hash}`;
}
