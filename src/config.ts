import { isIP } from "node:net";
import { resolve } from "node:path";
import {
  ConfigError,
  type Environment,
  textSetting,
  listSetting,
  integerSetting,
  flagSetting,
  wordSetting,
  webAddressSetting,
  databaseAddressSetting,
  parseSettingUrl,
} from "./settings.ts";

/** The operator's settings (DESIGN §7), validated and frozen. No other module reads the environment. */
export interface Config {
  readonly host: string;
  readonly port: number;
  /** Issuer, audience and base of every printed URL, without a trailing slash. */
  readonly publicUrl: string;
  /** Undefined means the embedded database. */
  readonly databaseUrl: string | undefined;
  /** The address for LISTEN if `databaseUrl` is a transaction pooler. */
  readonly databaseListenUrl: string | undefined;
  /** Connections of this replica for requests and jobs; reads, logins at upstreams and maintenance have their own. */
  readonly databasePoolSize: number;
  /** Absolute path of the embedded database and the generated keys. */
  readonly dataDir: string;
  /** Master keys as `version:base64`, comma separated, newest first. Undefined means generated in `dataDir`. */
  readonly masterKeys: string | undefined;
  /** `host:port` of private hosts that outbound calls may reach. */
  readonly outboundAllow: readonly string[];
  /** Base addresses by `server_type`, overriding the integration's own. */
  readonly integrationBaseUrls: ReadonlyMap<string, string>;
  /** The operator's OAuth clients at vendors, by `server_type`. Never print the secrets. */
  readonly integrationOAuthClients: ReadonlyMap<string, { readonly clientId: string; readonly clientSecret: string }>;
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
  /** Whether `X-Forwarded-*` headers are trusted. */
  readonly trustProxy: boolean;
  readonly corsOrigins: readonly string[];
  readonly logLevel: ServiceLogLevel;
  readonly workers: number;
  /** How long a replica still serves after SIGTERM, so that load balancers notice that it is not ready. */
  readonly shutdownDelaySeconds: number;
  readonly sessionIdleSeconds: number;
  /** How long a call may take without progress, and in total. */
  readonly callIdleSeconds: number;
  readonly callMaxSeconds: number;
  readonly heartbeatSeconds: number;
  /** How long a stopping service waits for calls. */
  readonly drainSeconds: number;
  readonly maxConnectionsPerAccount: number;
  /** Redirects with which OAuth clients may register themselves; undefined allows none. */
  readonly dynamicRegistration: RegistrationRule | undefined;
  /** Retention of the call history in days. */
  readonly historyDays: number;
  /** Undefined means password login only. */
  readonly oidc: OidcConfig | undefined;
  /** Requests per minute, caller and replica. */
  readonly rateLimits: Readonly<Partial<Record<RateName, number>>>;
  readonly signingKeyDays: number;
}

/** The external OpenID provider for login. */
export interface OidcConfig {
  /** The issuer in its metadata; https, or http on this host. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Whether people without an account get one at their first login. */
  readonly createsAccounts: boolean;
}

export interface RegistrationRule {
  /** Hosts of https redirects, with the port unless it is 443. */
  readonly hosts: ReadonlySet<string>;
  /** App schemes, including the colon. */
  readonly schemes: ReadonlySet<string>;
  /** Whether programs on the user's machine may register. */
  readonly allowsLoopback: boolean;
  /** Whether the published redirects of known hosts are allowed. */
  readonly allowsKnown: boolean;
  /** Whether every valid redirect is allowed. */
  readonly allowsAny: boolean;
}

const RATE_NAMES = ["account", "address", "token"] as const;

/** The names of the rate limits. */
export type RateName = (typeof RATE_NAMES)[number];

const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;

export type ServiceLogLevel = (typeof LOG_LEVELS)[number];

/** Reads the configuration. Throws ConfigError with the variable, its value and the rule. */
export function readConfig(environment: Environment = process.env): Config {
  const host = textSetting(environment, "HOST") ?? "127.0.0.1";
  const port = integerSetting(environment, "PORT", 8080, 1, 65_535);
  const databaseUrl = databaseAddressSetting(environment, "DATABASE_URL");
  const masterKeys = textSetting(environment, "PATCHBAY_KEYS");
  if (databaseUrl !== undefined && masterKeys === undefined) {
    throw new ConfigError(
      "PATCHBAY_KEYS is required with DATABASE_URL: a version and 32 random bytes, such as 1:$(openssl rand -base64 32).",
    );
  }
  const tls = tlsFiles(environment);
  const scheme = tls === undefined ? "http" : "https";
  return Object.freeze({
    host,
    port,
    publicUrl:
      webAddressSetting(environment, "PUBLIC_URL") ?? `${scheme}://${isIP(host) === 6 ? `[${host}]` : host}:${port}`,
    databaseUrl,
    databaseListenUrl: databaseAddressSetting(environment, "DATABASE_LISTEN_URL"),
    databasePoolSize: integerSetting(environment, "DATABASE_POOL_SIZE", 20, 2, 1_000),
    dataDir: resolve(textSetting(environment, "DATA_DIR") ?? ".patchbay"),
    masterKeys,
    outboundAllow: outboundAllow(environment),
    integrationBaseUrls: integrationBaseUrls(environment),
    integrationOAuthClients: integrationOAuthClients(environment),
    tls,
    trustProxy: flagSetting(environment, "TRUST_PROXY"),
    corsOrigins: corsOrigins(environment),
    logLevel: wordSetting(environment, "LOG_LEVEL", LOG_LEVELS, "info"),
    workers: integerSetting(environment, "WORKERS", 1, 1, 64),
    shutdownDelaySeconds: integerSetting(environment, "SHUTDOWN_DELAY_SECONDS", 5, 0, 300),
    sessionIdleSeconds: integerSetting(environment, "SESSION_IDLE_SECONDS", 86_400, 60, 31_536_000),
    callIdleSeconds: integerSetting(environment, "CALL_IDLE_SECONDS", 300, 1, 86_400),
    callMaxSeconds: integerSetting(environment, "CALL_MAX_SECONDS", 3_600, 1, 86_400),
    heartbeatSeconds: integerSetting(environment, "HEARTBEAT_SECONDS", 15, 1, 60),
    drainSeconds: integerSetting(environment, "DRAIN_SECONDS", 10, 0, 3_600),
    maxConnectionsPerAccount: integerSetting(environment, "MAX_CONNECTIONS_PER_ACCOUNT", 1_000, 1, 1_000_000),
    oidc: oidc(environment),
    historyDays: integerSetting(environment, "HISTORY_DAYS", 30, 1, 3_650),
    rateLimits: rateLimits(environment),
    dynamicRegistration: registrationRule(environment),
    signingKeyDays: integerSetting(environment, "SIGNING_KEY_DAYS", 30, 1, 3_650),
  });
}

function tlsFiles(environment: Environment): Config["tls"] {
  const certFile = textSetting(environment, "TLS_CERT_FILE");
  const keyFile = textSetting(environment, "TLS_KEY_FILE");
  if (certFile === undefined && keyFile === undefined) return undefined;
  if (certFile !== undefined && keyFile !== undefined) return { certFile, keyFile };
  throw new ConfigError("TLS_CERT_FILE and TLS_KEY_FILE belong together; set both or neither.");
}

function oidc(environment: Environment): OidcConfig | undefined {
  const [issuer, clientId, clientSecret] = ["OIDC_ISSUER", "OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET"].map((name) =>
    textSetting(environment, name),
  );
  const createsAccounts = flagSetting(environment, "OIDC_CREATE_ACCOUNTS");
  if (issuer === undefined && clientId === undefined && clientSecret === undefined) return undefined;
  if (issuer === undefined || clientId === undefined || clientSecret === undefined) {
    throw new ConfigError("OIDC_ISSUER, OIDC_CLIENT_ID and OIDC_CLIENT_SECRET belong together; set all or none.");
  }
  const { protocol, hostname } = parseSettingUrl("OIDC_ISSUER", issuer, ["https:", "http:"]);
  if (protocol === "http:" && !["localhost", "127.0.0.1", "[::1]"].includes(hostname)) {
    throw new ConfigError("OIDC_ISSUER must start with https:// unless the provider is on this machine.");
  }
  return { issuer, clientId, clientSecret, createsAccounts };
}

function outboundAllow(environment: Environment): readonly string[] {
  const items = listSetting(environment, "OUTBOUND_ALLOW");
  const wrong = items.find((item) => !/^(\[[0-9a-fA-F:]+\]|[^:/@\s]+):\d{1,5}$/.test(item));
  if (wrong === undefined) return items;
  throw new ConfigError(`OUTBOUND_ALLOW contains ${JSON.stringify(wrong)}; each item must be host:port.`);
}

function integrationBaseUrls(environment: Environment): ReadonlyMap<string, string> {
  return new Map(
    listSetting(environment, "INTEGRATION_BASE_URLS").map((item) => {
      const [, type, address] = /^([a-z0-9_-]+)=(.+)$/.exec(item) ?? [];
      if (type === undefined || address === undefined) {
        throw new ConfigError(
          `INTEGRATION_BASE_URLS contains ${JSON.stringify(item)}; each item must be type=address.`,
        );
      }
      return [type, parseSettingUrl("INTEGRATION_BASE_URLS", address, ["http:", "https:"]).href.replace(/\/$/, "")];
    }),
  );
}

function integrationOAuthClients(environment: Environment): Config["integrationOAuthClients"] {
  return new Map(
    listSetting(environment, "INTEGRATION_OAUTH_CLIENTS").map((item, index) => {
      const [, type, clientId, clientSecret] =
        /^([a-z0-9_-]+)=([\x21-\x39\x3b-\x7e]+):([\x21-\x7e]+)$/.exec(item) ?? [];
      // The item contains a secret, so the message names its position.
      if (type === undefined || clientId === undefined || clientSecret === undefined)
        throw new ConfigError(
          `Item ${index + 1} of INTEGRATION_OAUTH_CLIENTS is wrong; each must be type=client_id:client_secret, as in github=Iv1.8a61f9b3a7aba766:secret.`,
        );
      return [type, { clientId, clientSecret }];
    }),
  );
}

function rateLimits(environment: Environment): Config["rateLimits"] {
  const limits: Partial<Record<RateName, number>> = {};
  for (const item of listSetting(environment, "RATE_LIMITS")) {
    const [, word, number] = /^([a-z]+)=(\d{1,9})$/.exec(item) ?? [];
    const named = RATE_NAMES.filter((name) => name === word || item === "off");
    for (const name of named) limits[name] = Number(number ?? 0);
    if (named.length > 0) continue;
    const names = RATE_NAMES.map((name) => `${name}=number`).join(", ");
    throw new ConfigError(`RATE_LIMITS contains ${JSON.stringify(item)}; it is "off" or some of: ${names}.`);
  }
  return limits;
}

function corsOrigins(environment: Environment): readonly string[] {
  return listSetting(environment, "CORS_ORIGINS").map((item) => {
    const url = URL.canParse(item) ? new URL(item) : undefined;
    if (url?.origin === item) return item;
    throw new ConfigError(
      `CORS_ORIGINS contains ${JSON.stringify(item)}; each item must be an origin such as https://app.example.com.`,
    );
  });
}

/** Items of `DYNAMIC_REGISTRATION` that are not hosts. */
const REGISTRATION_WORDS = ["loopback", "known", "open"];

function registrationRule(environment: Environment): RegistrationRule | undefined {
  const given = listSetting(environment, "DYNAMIC_REGISTRATION").map((item) => item.toLowerCase());
  const items = given.length === 0 ? ["known"] : given;
  if (items.length === 1 && items[0] === "off") return undefined;
  const isScheme = (item: string): boolean => item.endsWith(":");
  const isWrong = (item: string): boolean =>
    !/^([a-z][a-z0-9+.-]*:|[a-z0-9-]+(\.[a-z0-9-]+)*(:\d{1,5})?)$/.test(item) ||
    ["https:", "http:"].includes(item) ||
    (items.length > 1 && ["off", "open"].includes(item));
  const wrong = items.find(isWrong);
  if (wrong !== undefined) {
    throw new ConfigError(
      `DYNAMIC_REGISTRATION contains ${JSON.stringify(wrong)}; it must be known, off, open, or a list of hosts such as app.example.com, an application's scheme such as cursor:, loopback and known.`,
    );
  }
  const hasKnown = items.includes("known");
  return {
    hosts: new Set(items.filter((item) => !isScheme(item) && !REGISTRATION_WORDS.includes(item))),
    schemes: new Set(items.filter(isScheme)),
    allowsLoopback: hasKnown || items.includes("loopback"),
    allowsKnown: hasKnown,
    allowsAny: items.includes("open"),
  };
}
