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

/** The status of a connection. */
export function StatusBadge({ status }: { readonly status: keyof typeof STATUS }) {
  const { color, label } = STATUS[status];
  return (
    <Badge color={color} variant="dot">
      {label}
    </Badge>
  );
}

const LOGIN = {
  verified: { color: "teal", label: "Authorized" },
  pending: { color: "yellow", label: "Not authorized yet" },
  failed: { color: "red", label: "Authorization lost" },
} as const;

/** The verification status of a connection's key, or of its owner's login. */
export function KeyBadge({
  status,
  method = "api_key",
}: {
  readonly status: Connection["api_key_verification_status"];
  readonly method?: Schemas["ConnectionDetails"]["auth_method"];
}) {
  const { color, label } = (method === "oauth2" ? LOGIN : KEY)[status];
  return (
    <Badge color={color} variant="dot">
      {label}
    </Badge>
  );
}

/** The access of a connection in words. */
export function accessInWords(access: Connection["access_type"]): string {
  return ACCESS[access];
}
