import type { Dispatcher } from "undici";
import { DomainError, invalid } from "../../domain-error.ts";
import type { JsonObject } from "../../json.ts";
import type { Integration, Verification } from "../integration.ts";
import type { Target } from "../target.ts";
import { createAccessTokens } from "../oauth/access-tokens.ts";
import { createUpstreamRateLimiter } from "../upstream-rate-limiter.ts";
import { callOperation, VERIFICATION_LIMITS } from "../openapi/call.ts";
import type { OpenApiCallContext, UpstreamCallOutcome } from "../openapi/requests/call-context.ts";
import type { Operation } from "../openapi/model/operation.ts";
import { errorResult } from "../tool.ts";
import { chooseVerification } from "./choose-verification.ts";
import {
  checkOpenApiConfiguration,
  OPENAPI_CONFIGURATION_SCHEMA,
  DESTINATION_PROPERTIES,
  digestIn,
  DOCUMENT_PROPERTY,
  referenceTo,
  OPENAPI_SECRET_PROPERTIES,
  textIn,
} from "./configuration.ts";
import type { LoadedDocument } from "./document-cache.ts";
import { DocumentFailure, documentNotStored } from "./document-failure.ts";
import type { DocumentStore } from "./document-store.ts";
import type { Documents } from "./documents.ts";
import { bindOperation } from "./bind-operation.ts";

export interface OpenApiDocumentIntegrationDeps {
  readonly documents: Documents;
  readonly changes: Pick<DocumentStore, "listChanges">;
  /** The guarded dispatcher. */
  readonly dispatcher: Dispatcher;
  /** Returns why a URL must not become a destination, or undefined. */
  readonly checkDestination: (url: string) => string | undefined;
}

/** Offers the operations of any OpenAPI document as tools. */
export function createOpenApiDocumentIntegration(deps: OpenApiDocumentIntegrationDeps): Integration {
  const { documents } = deps;
  const tokens = createAccessTokens();
  const rateLimiter = createUpstreamRateLimiter();

  function contextFor(document: LoadedDocument): OpenApiCallContext {
    return {
      dispatcher: deps.dispatcher,
      serverType: "openapi",
      title: document.title,
      secretProperties: OPENAPI_SECRET_PROPERTIES,
      errorHeaders: [],
      baseUrl: undefined,
      tokens,
      rateLimiter,
    };
  }

  async function documentOf(target: Target, signal: AbortSignal): Promise<LoadedDocument> {
    const { accountId, connectionId, configuration } = target;
    const isTrial = connectionId < 0;
    const digest = isTrial ? digestIn(configuration.spec) : undefined;
    // Saved configurations were checked on creation; a trial must not reveal another account's document.
    if (digest !== undefined && !(await documents.isUsedBy(accountId, digest))) throw documentNotStored();
    return documents.of(accountId, configuration, signal, isTrial);
  }

  function call(
    document: LoadedDocument,
    operation: Operation,
    args: JsonObject,
    target: Target,
    signal: AbortSignal,
  ): Promise<UpstreamCallOutcome> {
    const bound = bindOperation(operation, document, target.configuration);
    return callOperation(contextFor(document), bound, args, target, signal);
  }

  async function verifyConnection(target: Target, signal: AbortSignal): Promise<Verification> {
    const document = await documentOf(target, signal);
    const chosen = chooseVerification(document.operations.values());
    const [first] = document.operations.values();
    const operation = chosen ?? first;
    // Reports an unusable server during verification instead of at the first call.
    if (operation !== undefined) bindOperation(operation, document, target.configuration);
    if (chosen === undefined || target.configuration.api_token === undefined) return { outcome: "verified" };
    const bound = bindOperation(chosen, document, target.configuration);
    const context = { ...contextFor(document), limits: VERIFICATION_LIMITS };
    const { status, result } = await callOperation(context, bound, {}, target, signal);
    const text = result.content[0]?.text;
    const reason = typeof text === "string" ? text : `${document.title} gave no usable answer.`;
    if (status === 401 || status === 403) return { outcome: "failed", reason };
    // Other client errors of this read do not mean that the key is invalid.
    return status === undefined || status >= 500 || status === 429
      ? { outcome: "retry", reason }
      : { outcome: "verified" };
  }

  return {
    serverType: "openapi",
    title: "OpenAPI document",
    description: "Any HTTP API that an OpenAPI 3 or Swagger 2.0 document describes.",
    category: "custom",
    documentationUrl: "https://spec.openapis.org/oas/latest.html",
    configurationSchema: OPENAPI_CONFIGURATION_SCHEMA,
    secretProperties: OPENAPI_SECRET_PROPERTIES,
    credentialProperty: "api_token",
    destinationProperties: DESTINATION_PROPERTIES,
    documentProperty: DOCUMENT_PROPERTY,
    toolSource: "shared",

    checkConfiguration: (configuration) => checkOpenApiConfiguration(configuration, deps.checkDestination),

    async adoptConfiguration(configuration, accountId) {
      const { spec } = configuration;
      const digest = digestIn(spec);
      if (digest !== undefined && !(await documents.isUsedBy(accountId, digest)))
        throw invalid("spec", "spec refers to a document that is not stored here; supply the document itself.");
      const text = textIn(spec);
      if (text === undefined) return configuration;
      try {
        return { ...configuration, spec: referenceTo(await documents.adopt(accountId, text)) };
      } catch (error) {
        if (error instanceof DocumentFailure) throw invalid("spec", `spec: ${error.message}`);
        throw error;
      }
    },

    async listTools(target, { signal }) {
      try {
        return (await documentOf(target, signal)).tools;
      } catch (error) {
        if (error instanceof DocumentFailure) throw new DomainError("unavailable", error.message, { cause: error });
        throw error;
      }
    },

    async callTool(target, tool, args, { signal }) {
      try {
        const document = await documentOf(target, signal);
        const found = documents.operationOf(document, tool);
        const operation = found instanceof Promise ? await found : found;
        if (operation === undefined)
          return errorResult(`${document.title} has no operation ${tool.name} any more. List the tools again.`);
        return (await call(document, operation, args, target, signal)).result;
      } catch (error) {
        if (error instanceof DocumentFailure) return errorResult(error.message);
        throw error;
      }
    },

    async verify(target, { signal }) {
      try {
        return await verifyConnection(target, signal);
      } catch (error) {
        if (!(error instanceof DocumentFailure)) throw error;
        return { outcome: error.kind === "unusable" ? "failed" : "retry", reason: error.message };
      }
    },

    forget(connectionId) {
      tokens.forget(connectionId);

      rateLimiter.forget(connectionId);
    },

    toolChanges: ({ spec_url: url }, limit) =>
      typeof url === "string" ? deps.changes.listChanges(url, limit) : Promise.resolve([]),
  };
}
