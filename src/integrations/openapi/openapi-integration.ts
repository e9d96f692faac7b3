import type { Dispatcher } from "undici";
import { DomainError } from "../../domain-error.ts";
import type { JsonObject } from "../../json.ts";
import type { Integration, Verification } from "../integration.ts";
import { callOperation } from "./call.ts";
import type { CallContext } from "./call-context.ts";
import type { IntegrationContract } from "./contract.ts";
import type { ExchangeLimits } from "../exchange.ts";
import { createAccessTokens } from "../oauth/access-tokens.ts";
import { createPace, type Pace } from "../pace.ts";
import { serverAddress, tokenAddress } from "./server-address.ts";

/** What an integration needs of the world. */
export interface OpenApiIntegrationOptions {
  /** The way out: a guarded one in production. */
  readonly dispatcher: Dispatcher;
  /** Replaces the server's address (its path stays): a stand-in. */
  readonly baseUrl?: string;
  /** 5 MiB and 30 s unless told. */
  readonly limits?: ExchangeLimits;
  /** How fast its connections are called; one of its own unless told. */
  readonly pace?: Pace;
}

/** An integration that is its contract: tools, verification and calls all come from the document. */
export function createOpenApiIntegration(
  contract: IntegrationContract,
  options: OpenApiIntegrationOptions,
): Integration {
  const { serverType, title, operations, verification, configurationSchema } = contract;
  const tokens = createAccessTokens();
  const pace = options.pace ?? createPace();
  const context: CallContext = {
    dispatcher: options.dispatcher,
    serverType,
    title,
    secretProperties: contract.secretProperties,
    errorHeaders: contract.errorHeaders,
    errorAnswers: contract.errorAnswers,
    baseUrl: options.baseUrl,
    tokens,
    pace,
    untoldWaitMs: contract.busySeconds === undefined ? undefined : contract.busySeconds * 1_000,
    ...(options.limits === undefined ? {} : { limits: options.limits }),
  };
  const tools = operations.map(({ tool }) => tool);
  const byName = new Map(operations.map((operation) => [operation.tool.name, operation]));
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
    checkConfiguration(configuration: JsonObject) {
      // Against the real address, so that a stand-in changes nothing about what is accepted.
      for (const { server, credentials } of operations) {
        serverAddress(server, configuration);
        for (const plan of credentials)
          if (plan.kind === "client_credentials") tokenAddress(plan.server, configuration);
      }
    },
    listTools: () => Promise.resolve(tools),
    async callTool(target, tool, args, { signal }) {
      const operation = byName.get(tool.name);
      if (operation === undefined) throw new DomainError("not_found", `${title} has no tool ${tool.name}.`);
      const { result } = await callOperation(context, operation, args, target, signal);
      return result;
    },
    async verify(target, { signal }): Promise<Verification> {
      const { result, status } = await callOperation(context, verification, {}, target, signal);
      if (status !== undefined && status >= 200 && status < 300) return { outcome: "verified" };
      const [block] = result.content;
      const text = block?.text;
      const reason = typeof text === "string" ? text : `${title} gave no usable answer.`;
      return { outcome: status === 401 || status === 403 ? "failed" : "retry", reason };
    },
    forget(connectionId) {
      tokens.forget(connectionId);
      pace.forget(connectionId);
    },
  };
}
