import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { type Account as WireAccount, AccountSchema } from "../../../../gen/proto/patchbay/v1/account_pb.ts";
import { type SigningKey as WireKey, SigningKeySchema } from "../../../../gen/proto/patchbay/v1/signing_key_pb.ts";
import {
  type SystemStatus as WireStatus,
  SystemStatusSchema,
} from "../../../../gen/proto/patchbay/v1/system_status_pb.ts";
import type { AdministeredAccount } from "../../../identity/accounts/administration.ts";
import type { SigningKeySummary } from "../../../identity/keys/key-rotation.ts";
import type { KeyPurpose } from "../../../identity/keys/signing-keys.ts";
import type { SystemStatus } from "../../../identity/system-status.ts";
import { invalid } from "../../../domain-error.ts";

export function toWireAccount(account: AdministeredAccount): WireAccount {
  const { disabledAt, name } = account;
  return create(AccountSchema, {
    id: account.id,
    email: account.email,
    isAdmin: account.isAdmin,
    status: disabledAt === undefined ? "active" : "disabled",
    connectionCount: account.connectionCount,
    createdAt: timestampFromDate(account.createdAt),
    ...(disabledAt === undefined ? {} : { disabledAt: timestampFromDate(disabledAt) }),
    ...(name === undefined ? {} : { name }),
  });
}

/** The private half is omitted. */
export function toWireSigningKey(key: SigningKeySummary): WireKey {
  const { currentSince, retiredAt } = key;
  return create(SigningKeySchema, {
    id: key.id,
    purpose: key.purpose,
    state: key.state,
    createdAt: timestampFromDate(key.createdAt),
    readyAt: timestampFromDate(key.readyAt),
    ...(currentSince === undefined ? {} : { currentSince: timestampFromDate(currentSince) }),
    ...(retiredAt === undefined ? {} : { retiredAt: timestampFromDate(retiredAt) }),
  });
}

/** Parses the purpose of a key. Throws `invalid`. */
export function fromPurpose(text: string | undefined): KeyPurpose {
  if (text === undefined || text === "access_token") return "access_token";
  if (text === "personal_access_token") return text;
  throw invalid("purpose", "purpose must be access_token or personal_access_token.");
}

export function toWireSystemStatus(status: SystemStatus): WireStatus {
  return create(SystemStatusSchema, {
    version: status.version,
    migrations: status.migrations.length,
    latestMigration: status.migrations.at(-1) ?? "",
    listenerHealthy: status.isListenerHealthy,
    accounts: status.accounts,
    disabledAccounts: status.disabledAccounts,
    connections: status.connections,
    verifiedConnections: status.verifiedConnections,
    failedConnections: status.failedConnections,
    mcpSessions: status.mcpSessions,
    queues: status.queues.map(({ name, waiting, active, failed }) => ({ name, waiting, active, failed })),
  });
}
