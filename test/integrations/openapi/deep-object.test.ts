import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readContract } from "../../../src/integrations/openapi/contract.ts";
import type { Operation } from "../../../src/integrations/openapi/model/operation.ts";
import { buildRequest, type OutgoingRequest } from "../../../src/integrations/openapi/requests/request.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../src/json.ts";
import { argumentsOf } from "./arbitrary.ts";

const SEED = 20_261_121;
const SERVER = { origin: "https://api.test", basePath: "" };

function operationsOf(name: string): readonly Operation[] {
  return readContract(readFileSync(`openapi/integrations/${name}.yaml`, "utf8")).operations;
}

function build(operation: Operation, args: JsonObject): OutgoingRequest {
  return buildRequest(operation, args, SERVER, { api_key: "rk_test_0123456789", api_token: "0123456789" });
}

/** Argument → wire name, for arguments in deepObject style. */
function deepNames({ parameters, body }: Operation): ReadonlyMap<string, string> {
  const fields = [...(body?.fields ?? [])].map(([property, field]) => ({ ...field, property }));
  return new Map(
    [...parameters, ...fields]
      .filter(({ style }) => style === "deepObject")
      .map(({ property, name }) => [property, name]),
  );
}

/** Parses `a[b][0]=c` like PHP and Stripe: brackets are path segments, numbers are list indexes. */
function readBrackets(text: string): unknown {
  const root: Record<string, unknown> = {};
  for (const [key, value] of new URLSearchParams(text)) {
    const steps = [...key.matchAll(/^[^[]+|\[([^\]]*)\]/g)].map(([whole, inner]) => inner ?? whole);
    let place = root;
    for (const step of steps.slice(0, -1)) place = (place[step] ??= {}) as Record<string, unknown>;
    const last = steps.at(-1) ?? "";
    if (last in place) throw new Error(`${key} comes twice`);
    place[last] = value;
  }
  return listed(root);
}

function listed(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, item]): [string, unknown] => [key, listed(item)]);
  const isList = entries.length > 0 && entries.every(([key], index) => key === String(index));
  return isList ? entries.map(([, item]) => item) : Object.fromEntries(entries);
}

/** The part of a value that a form can represent: strings, without empty lists and objects. */
function sayable(value: JsonValue): unknown {
  if (Array.isArray(value)) {
    const items = value.map(sayable).filter((item) => item !== undefined);
    return items.length === 0 ? undefined : items;
  }
  if (!isJsonObject(value)) return value === null ? "" : String(value);
  const entries = Object.entries(value).flatMap(([key, item]): [string, unknown][] => {
    const said = sayable(item);
    return said === undefined ? [] : [[key, said]];
  });
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

describe.each(["bamboohr", "stripe"])("deepObject parameters of %s", (name) => {
  const operations = operationsOf(name).filter((operation) => deepNames(operation).size > 0);

  it.each(operations.map((operation): [string, Operation] => [operation.tool.name, operation]))(
    "parse back to the arguments of %s",
    (_name, operation) => {
      let compared = 0;
      fc.assert(
        fc.property(argumentsOf(operation.tool.inputSchema), (args) => {
          const { path, body } = build(operation, args);
          const seen = readBrackets(`${path.split("?")[1] ?? ""}&${body?.toString() ?? ""}`) as Record<string, unknown>;
          for (const [property, wireName] of deepNames(operation)) {
            const value = args[property];
            if (value === undefined) continue;
            expect(seen[wireName]).toEqual(sayable(value));
            compared += 1;
          }
        }),
        { seed: SEED, numRuns: 50 },
      );
      expect(compared).toBeGreaterThan(0);
    },
  );
});

describe("the wire format", () => {
  const find = (name: string, tool: string): Operation => {
    const found = operationsOf(name).find((operation) => operation.tool.name === tool);
    if (found === undefined) throw new Error(`no ${tool}`);
    return found;
  };

  it("numbers Stripe's lists of objects like Stripe's SDK", () => {
    const { body } = build(find("stripe", "create_subscription"), {
      customer: "cus_1",
      items: [{ price: "price_1", quantity: 2 }, { price: "price_2" }],
      metadata: { "order no": "6&7" },
    });
    expect(decodeURIComponent(String(body).replace("6%267", "6+7"))).toBe(
      "customer=cus_1&items[0][price]=price_1&items[0][quantity]=2&items[1][price]=price_2&metadata[order no]=6+7",
    );
    expect(String(body)).toContain("metadata%5Border%20no%5D=6%267");
  });

  it("nests Stripe's addresses and time ranges, and BambooHR's filters and pages", () => {
    const customer = build(find("stripe", "create_customer"), { name: "Ava", address: { city: "Bonn", line1: "A 1" } });
    expect(customer.body).toBe("name=Ava&address%5Bcity%5D=Bonn&address%5Bline1%5D=A%201");
    expect(build(find("stripe", "list_customers"), { created: { gte: 1, lt: 2 } }).path).toBe(
      "/v1/customers?created%5Bgte%5D=1&created%5Blt%5D=2",
    );
    const people = build(find("bamboohr", "list_employees"), { filter: { status: "active" }, page: { limit: 5 } });
    expect(people.path).toContain("?filter%5Bstatus%5D=active&page%5Blimit%5D=5");
  });
});
