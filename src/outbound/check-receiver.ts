import { lookup as systemLookup } from "node:dns/promises";
import { OutboundRefused } from "../integrations/outbound-refused.ts";
import { withinMs } from "../within-ms.ts";
import { parseAllowList } from "./allow-list.ts";
import { checkDestination } from "./check-destination.ts";
import { requirePermittedAddress, requirePermittedDestination } from "./destination.ts";

/** How long the resolver may take. The dispatcher checks the addresses again on every connection. */
const LOOKUP_MS = 2_000;

/** Returns the addresses of a name. Rejects if it has none. */
export type LookUpAddresses = (name: string) => Promise<readonly { readonly address: string }[]>;

/**
 * Returns the rule that a receiver's URL breaks, or undefined. Unlike `checkDestination` it resolves the name, so that a
 * private address is refused at once. A name that cannot be resolved now is accepted.
 */
export async function checkReceiver(
  url: string,
  allow: readonly string[],
  lookup: LookUpAddresses = (name) => systemLookup(name, { all: true }),
): Promise<string | undefined> {
  const refused = checkDestination(url, allow);
  if (refused !== undefined) return refused;
  const { protocol, hostname, port } = new URL(url);
  const list = parseAllowList(allow);
  const destination = requirePermittedDestination(protocol, hostname, port, list);
  if (destination.permitted || destination.host.kind === "address") return undefined;
  const found = await withinMs(
    LOOKUP_MS,
    lookup(destination.host.text).catch(() => []),
    [],
  );
  try {
    for (const { address } of found) requirePermittedAddress(address, destination, list);
  } catch (error) {
    if (error instanceof OutboundRefused) return error.message;
    throw error;
  }
  return undefined;
}
