import type { Operation } from "../openapi/model/operation.ts";

/** Paths of operations about the caller. */
const WHO_AM_I = /(^|[/_.-])(me|self|whoami|myself|user|current_?user|account|ping|status)$/i;

/** Chooses a read without arguments, preferably about the caller, else the one with the shortest path. */
export function chooseVerification(operations: Iterable<Operation>): Operation | undefined {
  const candidates = [...operations].filter(
    ({ tool, method, requirements }) =>
      method === "GET" &&
      tool.readOnly &&
      (!Array.isArray(tool.inputSchema.required) || tool.inputSchema.required.length === 0) &&
      requirements?.length !== 0,
  );
  const rank = ({ path }: Operation): number => (WHO_AM_I.test(path) ? 0 : 1_000) + path.length;
  return candidates.toSorted((a, b) => rank(a) - rank(b))[0];
}
