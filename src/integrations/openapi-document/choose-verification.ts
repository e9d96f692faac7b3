import type { Operation } from "../openapi/model/operation.ts";

/** Words in the paths of operations that answer who the caller is. */
const WHO_AM_I = /(^|[/_.-])(me|self|whoami|myself|user|current_?user|account|ping|status)$/i;

/**
 * The operation that tells most about a key: a read without arguments, best one about the caller, else the one with the
 * shortest path. Undefined when the document has none.
 */
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
