import type { Dispatcher } from "undici";
import { DomainError } from "../../domain-error.ts";
import type { JsonObject } from "../../json.ts";
import type { Integration, Verification } from "../integration.ts";
import type { Target } from "../target.ts";
import { callOperation, VERIFICATION_LIMITS } from "./call.ts";
import type { OpenApiCallContext, OwnerTokens } from "./requests/call-context.ts";
import type { IntegrationContract } from "./contract.ts";
import type { ExchangeLimits } from "../upstream-exchange.ts";
import { createAccessTokens } from "../oauth/access-tokens.ts";
import type { OwnerAuthorization } from "../authorization.ts";
import type { ConfiguredClient } from "../oauth/resolve-client.ts";
import { createUpstreamRateLimiter, type UpstreamRateLimiter } from "../upstream-rate-limiter.ts";
import type { Operation } from "./model/operation.ts";
import { type OperatorAuthorization, operatorAuthorization, type OperatorClient } from "./security/operator-client.ts";
import { contractAuthorization } from "./security/owner-authorization.ts";
import { serverAddress, tokenAddress } from "./requests/server-address.ts";

export interface OpenApiIntegrationOptions {
  /** The dispatcher; in production it is guarded. */
  readonly dispatcher: Dispatcher;
  /** Replaces the server's address but not its path, for test servers. */
  readonly baseUrl?: string;
  /** Default: 5 MiB, and 30 s for verifications. */
  readonly limits?: ExchangeLimits;
  /** Owner logins with the operator's registered client. */
  readonly owner?: { readonly client: ConfiguredClient; readonly tokens: OwnerTokens } | undefined;
  /** The operator's client for the client credentials grant. */
  readonly client?: OperatorClient | undefined;
  readonly rateLimiter?: UpstreamRateLimiter;
}

/** Creates an integration from its contract. */
export function createOpenApiIntegration(
  contract: IntegrationContract,
  options: OpenApiIntegrationOptions,
): Integration {
  const { serverType, title, operations, verification, configurationSchema } = contract;
  const tokens = createAccessTokens();
  const authorization = authorizationOf(contract, options);
  const operator = operatorOf(contract, options);
  const ownerTokens = operator?.tokens ?? options.owner?.tokens;
  const rateLimiter = options.rateLimiter ?? createUpstreamRateLimiter();
  const context: OpenApiCallContext = {
    dispatcher: options.dispatcher,
    serverType,
    title,
    secretProperties: contract.secretProperties,
    errorHeaders: contract.errorHeaders,
    errorAnswers: contract.errorAnswers,
    baseUrl: options.baseUrl,
    tokens,
    ownerTokens,
    rateLimiter,
    defaultWaitMs: contract.busySeconds === undefined ? undefined : contract.busySeconds * 1_000,
    ...(options.limits === undefined ? {} : { limits: options.limits }),
  };
  const verificationContext: OpenApiCallContext = { ...context, limits: options.limits ?? VERIFICATION_LIMITS };
  const tools = operations.map(({ tool }) => tool);
  const byName = new Map(operations.map((operation) => [operation.tool.name, operation]));
  const byNameWithToken = new Map(operations.map((operation) => [operation.tool.name, withBearerToken(operation)]));
  const hasScheme = contract.ownerScheme !== undefined || contract.clientScheme !== undefined;
  const lacksClient = hasScheme && authorization === undefined && operator === undefined;
  return {
    serverType,
    title,
    description: contract.description,
    category: contract.category,
    documentationUrl: contract.documentationUrl,
    toolCount: tools.length,
    configurationSchema,
    secretProperties: contract.secretProperties,
    credentialProperty: contract.credentialProperty,
    destinationProperties: contract.destinationProperties,
    toolSource: "fixed",
    ...(authorization !== undefined && { authorization }),
    ...(operator !== undefined && { clientAuthorization: operator.authorization }),
    ...(lacksClient && { lacksClient }),
    checkConfiguration(configuration: JsonObject) {
      // Checks against the contract's address, so that a test server does not change what is accepted.
      for (const { server, credentials } of operations) {
        serverAddress(server, configuration);
        for (const plan of credentials)
          if (plan.kind === "client_credentials") tokenAddress(plan.server, configuration);
      }
    },
    listTools: () => Promise.resolve(tools),
    async callTool(target, tool, args, { signal }) {
      const operation = (usesOAuth(target) ? byNameWithToken : byName).get(tool.name);
      if (operation === undefined) throw new DomainError("not_found", `${title} has no tool ${tool.name}.`);
      const { result } = await callOperation(context, operation, args, target, signal);
      return result;
    },
    async verify(target, { signal }): Promise<Verification> {
      const operation = usesOAuth(target) ? withBearerToken(verification) : verification;
      const { result, status } = await callOperation(verificationContext, operation, {}, target, signal);
      if (status !== undefined && status >= 200 && status < 300) return { outcome: "verified" };
      const [block] = result.content;
      const text = block?.text;
      const reason = typeof text === "string" ? text : `${title} gave no usable answer.`;
      // The owner has no key that could be at fault. A retry succeeds after the operator corrects the client.
      if (usesOAuth(target) && contract.clientScheme !== undefined) return { outcome: "retry", reason };
      if (status === 401 && usesOAuth(target)) return { outcome: "needs_authorization", reason };
      return { outcome: status === 401 || status === 403 ? "failed" : "retry", reason };
    },
    forget(connectionId) {
      tokens.forget(connectionId);
      ownerTokens?.forget(connectionId);
      rateLimiter.forget(connectionId);
    },
  };
}

function usesOAuth({ authMethod }: Target): boolean {
  return authMethod === "oauth2";
}

/** Replaces the key with a bearer token (RFC 6750). */
function withBearerToken(operation: Operation): Operation {
  return { ...operation, credentials: [{ kind: "owner" }] };
}

function authorizationOf(
  { title, ownerScheme: scheme, verification: { server } }: IntegrationContract,
  { owner, dispatcher, baseUrl }: OpenApiIntegrationOptions,
): OwnerAuthorization | undefined {
  if (scheme === undefined || owner === undefined) return undefined;
  return contractAuthorization({ title, scheme, server }, { dispatcher, baseUrl, client: owner.client });
}

function operatorOf(
  { title, clientScheme: scheme, verification: { server } }: IntegrationContract,
  { client, dispatcher, baseUrl }: OpenApiIntegrationOptions,
): OperatorAuthorization | undefined {
  if (scheme === undefined || client === undefined) return undefined;
  return operatorAuthorization({ title, scheme, server }, client, { dispatcher, baseUrl });
}
