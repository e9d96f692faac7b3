import { BlockList, isIP } from "node:net";

/** Address ranges that are not public (IANA special-purpose registries), by a readable name. */
const RANGES: readonly (readonly [kind: string, subnets: readonly string[]])[] = [
  ["an unspecified address", ["0.0.0.0/8", "::/128"]],
  ["a loopback address", ["127.0.0.0/8", "::1/128"]],
  // Host agents of Azure (168.63.129.16), Alibaba (100.100.100.200) and Oracle (192.0.0.192) have public or shared
  // addresses.
  [
    "a cloud metadata address",
    ["169.254.169.254/32", "168.63.129.16/32", "100.100.100.200/32", "192.0.0.192/32", "fd00:ec2::/32"],
  ],
  ["a link-local address", ["169.254.0.0/16", "fe80::/10"]],
  ["a private address", ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fec0::/10"]],
  ["a carrier-grade NAT address", ["100.64.0.0/10"]],
  ["a multicast address", ["224.0.0.0/4", "ff00::/8"]],
  [
    "a reserved address",
    [
      "192.0.0.0/24",
      "192.0.2.0/24",
      "192.88.99.0/24",
      "198.18.0.0/15",
      "198.51.100.0/24",
      "203.0.113.0/24",
      "240.0.0.0/4",
      "2001::/23",
      "2001:db8::/32",
      "2002::/16",
      "3fff::/20",
    ],
  ],
];

const LISTS = RANGES.map(([kind, subnets]) => ({ kind, list: blockList(subnets) }));
const GLOBAL_UNICAST = blockList(["2000::/3"]);

/**
 * Returns why an address is not a public destination, or undefined if it is.
 *
 * An IPv4 address inside an IPv6 one (mapped, NAT64) is checked as IPv4. Other transition forms and addresses outside
 * global unicast are rejected.
 */
export function addressRefusal(address: string): string | undefined {
  // Only link-local addresses have a zone.
  if (address.includes("%")) return "a link-local address";
  const family = isIP(address);
  if (family === 0) return "not an address";
  const v4 = family === 4 ? address : embeddedV4(address);
  if (v4 !== undefined) return LISTS.find(({ list }) => list.check(v4, "ipv4"))?.kind;
  const named = LISTS.find(({ list }) => list.check(address, "ipv6"))?.kind;
  if (named !== undefined) return named;
  return GLOBAL_UNICAST.check(address, "ipv6") ? undefined : "a reserved address";
}

/** Returns the canonical spelling for comparison: dotted decimal, or compressed lower-case IPv6 without brackets. */
export function canonicalAddress(address: string): string {
  if (isIP(address) !== 6 || address.includes("%")) return address;
  return compressed(address).startsWith(MAPPED) ? (embeddedV4(address) ?? address) : compressed(address);
}

const MAPPED = "::ffff:";
const NAT64 = "64:ff9b::";

/** The IPv4 address inside `::ffff:0:0/96` (mapped) or `64:ff9b::/96` (NAT64, RFC 6052). */
function embeddedV4(address: string): string | undefined {
  const text = compressed(address);
  const prefix = [MAPPED, NAT64].find((candidate) => text.startsWith(candidate));
  if (prefix === undefined) return undefined;
  const groups = text.slice(prefix.length).split(":");
  // `::ffff:1` is not a mapped address: its ffff is the second group from the end.
  if (groups.length > 2 || (prefix === MAPPED && groups.length < 2)) return undefined;
  const number = groups.reduce((sum, group) => sum * 65_536 + Number.parseInt(group === "" ? "0" : group, 16), 0);
  return [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join(".");
}

function compressed(address: string): string {
  return new URL(`http://[${address}]`).hostname.slice(1, -1);
}

function blockList(subnets: readonly string[]): BlockList {
  const list = new BlockList();
  for (const subnet of subnets) {
    const [network = "", bits = ""] = subnet.split("/");
    list.addSubnet(network, Number(bits), isIP(network) === 6 ? "ipv6" : "ipv4");
  }
  return list;
}
