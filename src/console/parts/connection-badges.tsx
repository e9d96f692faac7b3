import { Badge } from "@mantine/core";
import type { Schemas } from "../api/schemas.ts";

type Connection = Schemas["Connection"];

const STATUS = {
  active: { color: "teal", label: "Active" },
  disabled: { color: "gray", label: "Agents off" },
  needs_authorization: { color: "yellow", label: "Needs authorization" },
  error: { color: "red", label: "Error" },
} as const;

const KEY = {
  verified: { color: "teal", label: "Verified" },
  pending: { color: "yellow", label: "Not verified yet" },
  failed: { color: "red", label: "Refused" },
} as const;

const ACCESS = {
  read: "Read only",
  write: "Read and write",
  individual: "Chosen tools",
} as const;

/** How a connection stands. */
export function StatusBadge({ status }: { readonly status: keyof typeof STATUS }) {
  const { color, label } = STATUS[status];
  return (
    <Badge color={color} variant="dot">
      {label}
    </Badge>
  );
}

/** What is known of a connection's key. */
export function KeyBadge({ status }: { readonly status: Connection["api_key_verification_status"] }) {
  const { color, label } = KEY[status];
  return (
    <Badge color={color} variant="dot">
      {label}
    </Badge>
  );
}

/** How far a connection's access goes, in words. */
export function accessInWords(access: Connection["access_type"]): string {
  return ACCESS[access];
}
