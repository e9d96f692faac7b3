import { RateLimiterMemory, RateLimiterRes } from "rate-limiter-flexible";
import { type Principal, reachesAll } from "../identity/principal.ts";
import { DomainError } from "../domain-error.ts";
import { getIntegration } from "../integrations/catalog/browse-catalog.ts";
import type { Catalog, Integration, Verification } from "../integrations/integration.ts";
import type { Target } from "../integrations/target.ts";
import type { SchemaValidator } from "../integrations/schema-checks/json-schema.ts";
import type { ToolDefinition } from "../integrations/tool.ts";
import type { JsonObject } from "../json.ts";
import { missingCredentialReason } from "./configuration.ts";
import { prepareConnection } from "./create.ts";
import { checkPage, DEFAULT_PAGE, type PageQuery } from "../page.ts";

export interface Trial {
  readonly serverType: string;
  /** Includes secrets. Undefined if none was supplied. */
  readonly configuration: JsonObject | undefined;
}

export interface ConfigurationReport {
  /** The errors that creating a connection would return. */
  readonly errors: readonly { readonly field: string; readonly message: string }[];
  /** The result of one real call. `skipped` if there is no credential to try, undefined if there are errors. */
  readonly verification: Verification | { readonly outcome: "skipped"; readonly reason: string } | undefined;
}

/** A page of the tools that a connection would have, sorted by name. */
export interface ToolPreview {
  readonly tools: readonly ToolDefinition[];
  readonly totalCount: number;
  readonly limit: number;
  readonly offset: number;
  readonly hasMore: boolean;
}

/**
 * Tries a configuration with at most one request to the upstream and stores nothing. Throws `not_found` for an unknown
 * type.
 */
export interface Trials {
  validate(principal: Principal, trial: Trial, signal: AbortSignal): Promise<ConfigurationReport>;
  previewTools(principal: Principal, trial: Trial & PageQuery, signal: AbortSignal): Promise<ToolPreview>;
}

export interface TrialDeps {
  readonly catalog: Catalog;
  readonly validator: SchemaValidator;
  /** Defaults to 60. */
  readonly maxTrialsPerMinute?: number;
}

const TIMEOUT_MS = 30_000;

/** Trials are limited per account, so that nobody can search for keys or addresses. */
export function createTrials(deps: TrialDeps): Trials {
  const { catalog, validator, maxTrialsPerMinute = 60 } = deps;
  const counter = new RateLimiterMemory({ points: maxTrialsPerMinute, duration: 60 });
  /** Negative ids, so that an integration's caches never mix trials with connections. */
  let lastId = 0;

  async function admit(principal: Principal): Promise<void> {
    if (!reachesAll(principal)) throw new DomainError("forbidden", "You do not have permission to try configurations.");
    try {
      await counter.consume(principal.accountId);
    } catch (rejected) {
      if (!(rejected instanceof RateLimiterRes)) throw rejected;
      throw new DomainError("exhausted", `An account can try at most ${maxTrialsPerMinute} configurations a minute.`, {
        retryAfterSeconds: rejected.msBeforeNext / 1000,
      });
    }
  }

  async function ask<Answer>(
    { accountId }: Principal,
    integration: Integration,
    configuration: JsonObject,
    signal: AbortSignal,
    question: (target: Target, signal: AbortSignal) => Promise<Answer>,
  ): Promise<Answer> {
    lastId -= 1;
    const target = { accountId, connectionId: lastId, keyVersion: 1, configuration };
    const timeout = AbortSignal.timeout(TIMEOUT_MS);
    try {
      return await question(target, AbortSignal.any([signal, timeout]));
    } catch (error) {
      if (!timeout.aborted || error instanceof DomainError) throw error;
      const message = `The upstream did not answer within ${TIMEOUT_MS / 1000} seconds.`;
      throw new DomainError("unavailable", message, { cause: error });
    } finally {
      integration.forget?.(target.connectionId);
    }
  }

  return {
    async validate(principal, trial, signal) {
      const integration = getIntegration(catalog, trial.serverType);
      await admit(principal);
      const { configuration = {} } = trial;
      let hasCredential: boolean;
      try {
        ({ hasCredential } = prepareConnection(principal.accountId, { ...trial, configuration }, catalog, validator));
      } catch (error) {
        if (!(error instanceof DomainError) || error.kind !== "invalid") throw error;
        const { field = "configuration", message } = error;
        return { errors: [{ field, message }], verification: undefined };
      }
      if (missingCredentialReason(integration, hasCredential) !== undefined) {
        const reason = `There is no ${integration.credentialProperty ?? "credential"} to try.`;
        return { errors: [], verification: { outcome: "skipped", reason } };
      }
      try {
        const verification = await ask(principal, integration, configuration, signal, (target, either) =>
          integration.verify(target, { signal: either }),
        );
        return { errors: [], verification };
      } catch (error) {
        if (!(error instanceof DomainError) || error.kind !== "unavailable") throw error;
        return { errors: [], verification: { outcome: "retry", reason: error.message } };
      }
    },

    async previewTools(principal, { limit = DEFAULT_PAGE, offset = 0, ...trial }, signal) {
      const integration = getIntegration(catalog, trial.serverType);
      checkPage({ limit, offset });
      await admit(principal);
      const { configuration } = trial;
      if (configuration !== undefined || integration.toolSource !== "fixed")
        prepareConnection(principal.accountId, { ...trial, configuration: configuration ?? {} }, catalog, validator);
      const listed = await ask(principal, integration, configuration ?? {}, signal, (target, either) =>
        integration.listTools(target, { signal: either }),
      );
      const tools = listed.toSorted((a, b) => (a.name < b.name ? -1 : 1));
      const totalCount = tools.length;
      return {
        tools: tools.slice(offset, offset + limit),
        totalCount,
        limit,
        offset,
        hasMore: offset + limit < totalCount,
      };
    },
  };
}
