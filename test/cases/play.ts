import { ERROR_REASONS } from "../../src/error-reason.ts";
import type { JsonValue } from "../../src/json.ts";
import type { TestAccount } from "../support/accounts.ts";
import { operationNamed, type ProtocolClient } from "../support/clients.ts";
import type { Outcome } from "../support/outcome.ts";
import { until } from "../support/until.ts";
import { type Case, ERRORS, type Step } from "./case.ts";
import { at, difference, fill, fillObject, stands, type Variables } from "./match.ts";

/**
 * Runs a case over one protocol with a new account. Throws at the first difference. All protocols must return the same
 * reasons and fields at fault.
 */
export async function play(
  played: Case,
  client: ProtocolClient,
  account: TestAccount,
  given: Variables,
  reasons: Map<Step, string>,
): Promise<void> {
  const variables: Variables = new Map(given);
  for (const [index, step] of played.steps.entries()) {
    const where = `step ${String(index + 1)} (${step.call})`;
    const outcome = await perform(step, client, account, variables, where);
    const fault = `${outcome.reason} ${outcome.field}`.trim();
    const elsewhere = reasons.get(step) ?? fault;
    if (elsewhere !== fault)
      throw new Error(`${where}: fault ${fault} over ${client.name} differs from ${elsewhere} over another protocol`);
    reasons.set(step, fault);
    for (const [name, path] of Object.entries(step.save)) {
      const header = /^header (.+)$/.exec(String(path))?.[1];
      const value = header === undefined ? at(outcome.body, String(path)) : outcome.headers.get(header);
      if (value === undefined || value === null)
        throw new Error(`${where}: nothing at ${String(path)} in ${JSON.stringify(outcome.body)}`);
      variables.set(name, value);
    }
  }
}

async function perform(
  step: Step,
  client: ProtocolClient,
  account: TestAccount,
  variables: Variables,
  where: string,
): Promise<Outcome> {
  const call = async (): Promise<Outcome> =>
    client.call(step.call, {
      input: fillObject(step.input, variables),
      headers: Object.fromEntries(
        Object.entries(fillObject(step.headers, variables)).map(([name, value]) => [name, String(value)]),
      ),
      token: await tokenFor(step, account, variables),
    });
  const { until: wanted } = step;
  if (wanted !== undefined) {
    return until(
      async () => {
        const outcome = await call();
        const problem = difference(fill(wanted, variables), outcome.body, true);
        if (problem !== undefined) throw new Error(`${problem} (${outcome.message})`);
        return outcome;
      },
      { what: where },
    );
  }
  const outcome = await call();
  const problem = complaint(step, client, outcome, variables);
  if (problem !== undefined) throw new Error(`${where}: ${problem}`);
  return outcome;
}

async function tokenFor({ token }: Step, account: TestAccount, variables: Variables): Promise<string | undefined> {
  if (token === "none") return undefined;
  const bound = token.bound === undefined ? undefined : Number(fill(token.bound, variables));
  return account.token(token.scope, bound);
}

function complaint(step: Step, client: ProtocolClient, outcome: Outcome, variables: Variables): string | undefined {
  if (step.error !== undefined) {
    const [status, code] = ERRORS[step.error.kind];
    const wanted = client.isRest ? status : code;
    if (outcome.status !== wanted) return `status ${outcome.status} ("${outcome.message}") instead of ${wanted}`;
    const detail = String(fill(step.error.detail, variables));
    if (!stands(detail, outcome.message)) return `"${outcome.message}" instead of "${detail}"`;
    if (!isReason(outcome.reason)) return `the reason is "${outcome.reason}", which is none`;
    if (step.error.reason !== undefined && step.error.reason !== outcome.reason)
      return `the reason is ${outcome.reason} instead of ${step.error.reason}`;
    const { message: text, reason: word, field } = outcome;
    const body: JsonValue = client.isRest ? { detail: text, code: word, ...(field !== "" && { field }) } : null;
    return difference(body, outcome.body);
  }
  const wanted = client.isRest ? step.status : "ok";
  if (outcome.status !== wanted) return `status ${outcome.status} ("${outcome.message}") instead of ${wanted}`;
  if (client.isRest) {
    for (const [name, value] of Object.entries(fillObject(step.restHeaders, variables))) {
      const header = outcome.headers.get(name);
      if (!stands(String(value), header)) return `header ${name} is ${String(header)} instead of ${String(value)}`;
    }
  }
  if (step.ok !== undefined) return difference(fill(step.ok, variables), outcome.body);
  return step.has === undefined ? undefined : difference(fill(step.has, variables), outcome.body, true);
}

function isReason(word: string): boolean {
  return ERROR_REASONS.some((reason) => reason === word);
}

/** Throws if a step calls an operation that the contract does not have. */
export function checkOperations({ steps }: Case): void {
  for (const { call } of steps) operationNamed(call);
}
