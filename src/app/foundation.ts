import type { Logger } from "pino";
import { type Accounts, createAccounts } from "../identity/accounts/accounts.ts";
import { rewrapEvent } from "../identity/audit/rewrap-event.ts";
import { type OAuthClients, createOAuthClients } from "../identity/clients/clients.ts";
import { createGrants, type Grants } from "../identity/grants/grants.ts";
import { createKeyRotation, type KeyRotation } from "../identity/keys/key-rotation.ts";
import { createPersonalAccessTokens, type PersonalAccessTokens } from "../identity/tokens/personal-access-tokens.ts";
import type { RewrapSecrets } from "../identity/keys/rewrap-secrets.ts";
import { loadSigningKeys, type SigningKeys } from "../identity/keys/signing-keys.ts";
import type { Config } from "../config.ts";
import { inspectAddresses } from "../storage/pool/inspect-addresses.ts";
import { type Database, openDatabase } from "../storage/database.ts";
import { startEmbeddedPostgres } from "../storage/embedded-postgres.ts";
import { openInstallation } from "../storage/installation.ts";
import { loadOrCreateMasterKeys, parseMasterKeys } from "../storage/master-keys.ts";
import { migrate } from "../storage/migrate.ts";
import { rewrapSecrets } from "../storage/rewrap.ts";
import { DIRECT } from "../storage/pool/server-traits.ts";
import { createSealer, type Sealer } from "../storage/sealing.ts";
import { createAccountStore } from "../storage/stores/identity/account.ts";
import { createAuditRecorder } from "../storage/stores/identity/audit-event.ts";
import { createClientStore } from "../storage/stores/identity/client.ts";
import { createOAuthGrantStore } from "../storage/stores/identity/grant.ts";
import { createMemberStore } from "../storage/stores/organizations/member.ts";
import { createPersonalAccessTokenStore } from "../storage/stores/identity/personal-access-token.ts";
import { createSigningKeyStore } from "../storage/stores/identity/signing-key.ts";

/** Objects that the server and the command line share: the migrated database, keys and identity. */
export interface Foundation {
  readonly database: Database;
  /** The migrations that this start ran. */
  readonly migrations: readonly string[];
  /** The database address for LISTEN. */
  readonly listenUrl: string;
  readonly sealer: Sealer;
  readonly pepper: Uint8Array;
  readonly keys: SigningKeys;
  readonly keyRotation: KeyRotation;
  readonly rewrapSecrets: RewrapSecrets;
  readonly accountStore: ReturnType<typeof createAccountStore>;
  readonly memberStore: ReturnType<typeof createMemberStore>;
  readonly accounts: Accounts;
  readonly clientStore: ReturnType<typeof createClientStore>;
  readonly clients: OAuthClients;
  readonly personalAccessTokenStore: ReturnType<typeof createPersonalAccessTokenStore>;
  readonly personalAccessTokens: PersonalAccessTokens;
  readonly grantStore: ReturnType<typeof createOAuthGrantStore>;
  readonly grants: Grants;
  close(): Promise<void>;
}

/** Opens the database, or starts the embedded one if none is configured, then migrates it and loads the keys. */
export async function openFoundation(config: Config, log: Logger, poolSize: number): Promise<Foundation> {
  const embedded =
    config.databaseUrl === undefined ? await startEmbeddedPostgres({ dataDir: config.dataDir, log }) : undefined;
  const url = config.databaseUrl ?? embedded?.url ?? "";
  const listenUrl = config.databaseListenUrl ?? url;
  const server = config.databaseUrl === undefined ? DIRECT : await inspectAddresses(config.databaseUrl, config, log);
  const database = await openDatabase({ url, poolSize, server });
  const close = async (): Promise<void> => {
    await database.close();
    await embedded?.stop();
  };
  try {
    const migrations = await migrate(listenUrl, log);
    const masterKeys =
      config.masterKeys === undefined
        ? await loadOrCreateMasterKeys(config.dataDir)
        : parseMasterKeys(config.masterKeys);
    const sealer = createSealer(masterKeys);
    const { pepper } = await openInstallation(database, sealer);
    const keyStore = createSigningKeyStore(database.orm, sealer);
    const keys = await loadSigningKeys(keyStore);
    const accountStore = createAccountStore(database.orm);
    const clientStore = createClientStore(database);
    const personalAccessTokenStore = createPersonalAccessTokenStore(database);
    const grantStore = createOAuthGrantStore(database);
    return {
      database,
      migrations,
      listenUrl,
      sealer,
      pepper,
      keys,
      keyRotation: createKeyRotation({ store: keyStore, keys, rotateAfterDays: config.signingKeyDays }),
      rewrapSecrets: async () => {
        const report = await rewrapSecrets(database.maintenance, sealer);
        await createAuditRecorder(database.orm).record(rewrapEvent(report));
        return report;
      },
      accountStore,
      memberStore: createMemberStore(database),
      accounts: createAccounts({ store: accountStore }),
      clientStore,
      clients: createOAuthClients({ store: clientStore, pepper }),
      personalAccessTokenStore,
      personalAccessTokens: createPersonalAccessTokens({
        store: personalAccessTokenStore,
        keys,
        issuer: config.publicUrl,
      }),
      grantStore,
      grants: createGrants({ store: grantStore }),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
