import { createServiceImplSpec } from "@connectrpc/connect";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ConnectionService } from "../../../gen/proto/patchbay/v1/connection_service_pb.ts";
import { DomainError } from "../../../src/domain-error.ts";
import { serveRpc } from "../../../src/transport/rpc/calls.ts";
import { type Binding, readBindings } from "../../../src/transport/rpc/rest/binding.ts";
import { createRouter, handlerOf, type PathParameters } from "../../../src/transport/http/router.ts";
import { readRpc } from "../../../src/transport/rpc/rpc.ts";

const COLLECTION = "/api/v1/mcp-servers";

const { methods } = createServiceImplSpec(ConnectionService, {});
const bindings = Object.values(methods).flatMap((spec) =>
  readBindings(serveRpc(readRpc(spec.method, { audiences: [] }), spec, undefined)),
);
const router = createRouter(
  bindings.map(({ template, httpMethod }) => ({
    path: template,
    methods: { [httpMethod]: () => undefined },
    fail: () => undefined,
  })),
);

/** Returns the path parameters of the matching route, or undefined when no route matches. */
function find(method: string, path: string): PathParameters | undefined {
  const match = router.find(path);
  return match && handlerOf(match.route, method) && match.parameters;
}

function bindingOf(method: string): Binding {
  const binding = bindings.find(({ rpc }) => rpc.method.name === method);
  if (binding === undefined) throw new Error(`no binding for ${method}`);
  return binding;
}

/** A path segment before percent-encoding. */
const segment = fc.string({ unit: "binary", minLength: 1, maxLength: 60 }).map((text) => text.toWellFormed());

describe("REST path parameters", () => {
  test("decodes an encoded path parameter exactly once", () => {
    fc.assert(
      fc.property(segment, (text) => {
        const parameters = find("GET", `${COLLECTION}/${encodeURIComponent(text)}`);
        const isOwnPath = ["events"].includes(text);
        expect(parameters).toBeDefined();
        if (!isOwnPath) expect(Object.values(parameters ?? {})).toEqual([text]);
      }),
    );
  });

  test("no path parameter contains an unencoded slash", () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { minLength: 1, maxLength: 5 }), (segments) => {
        // The caller of the router removes the query.
        const path = `${COLLECTION}/${segments.join("/").replaceAll("?", "")}`;
        if (find("DELETE", path) === undefined) return;
        const literal = path.slice(COLLECTION.length + 1);
        expect(literal).not.toContain("/");
      }),
    );
  });

  test("the router does not throw for any path", () => {
    const method = fc.oneof(fc.constantFrom("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"), fc.string());
    const path = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.webPath(),
      fc.string().map((text) => `${COLLECTION}/%${text}`),
    );
    fc.assert(
      fc.property(method, path, (verb, text) => {
        expect(() => find(verb, text)).not.toThrow();
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("REST query parameters", () => {
  const list = bindingOf("ListConnections");

  test("accepts every integer that fits the field, and rejects other integers with the field name", () => {
    fc.assert(
      fc.property(fc.oneof(fc.integer(), fc.maxSafeInteger(), fc.bigInt()), (number) => {
        const isFitting = number >= -2_147_483_648 && number <= 2_147_483_647;
        const build = (): object => list.build({}, `limit=${String(number)}`, undefined);
        if (isFitting) expect(build()).toMatchObject({ limit: Number(number) });
        else expect(build).toThrow(/^limit must be/);
      }),
    );
  });

  test("decodes text that is encoded with percent signs or plus signs", () => {
    fc.assert(
      fc.property(segment, (text) => {
        const query = new URLSearchParams({ view: text }).toString();
        expect(bindingOf("GetConnection").build({ server_id: "7" }, query, undefined)).toMatchObject({ view: text });
      }),
    );
  });

  test("rejects a repeated query parameter even if its encodings differ", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 9 }),
        fc.constantFrom("limit", "%6cimit", "li%6Dit", "%6C%69%6D%69%74"),
        (value, name) => {
          expect(() => list.build({}, `limit=${value}&${name}=${value}`, undefined)).toThrow(
            /limit must be given once/,
          );
        },
      ),
    );
  });

  test("every query results in a message or an error of kind invalid with a single-line text", () => {
    const query = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.webQueryParameters(),
      fc
        .array(fc.tuple(fc.constantFrom("limit", "offset", "view", "server_id"), fc.string()))
        .map((pairs) => pairs.map(([name, text]) => `${name}=${text}`).join("&")),
    );
    fc.assert(
      fc.property(query, (text) => {
        try {
          list.build({}, text, undefined);
        } catch (error) {
          expect(error).toBeInstanceOf(DomainError);
          expect(error).toMatchObject({ kind: "invalid", message: expect.not.stringMatching(/[\n\r\0]/) });
        }
      }),
      { numRuns: 1_000 },
    );
  });
});
