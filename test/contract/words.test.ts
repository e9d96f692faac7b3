import { expect, test } from "vitest";
import { AUDIT_ACTIONS, AUDIT_OBJECTS } from "../../src/identity/audit/audit-event.ts";
import { SCOPES } from "../../src/identity/scopes.ts";
import { ERROR_REASONS } from "../../src/error-reason.ts";
import { listOperations, plain, readDocument, type Schema } from "./document.ts";

// The parity test compares the two contracts; these are the lists in the code.
const document = await readDocument();

const words = (schema: Schema | undefined): readonly (string | null)[] =>
  (schema === undefined ? undefined : plain(document, schema).schema.enum)?.toSorted() ?? [];

test.each([
  ["action", AUDIT_ACTIONS],
  ["object_type", AUDIT_OBJECTS],
])("the filter %s of the audit log accepts exactly the values that the service writes", (name, known) => {
  const asked = listOperations(document).flatMap(({ operation, parameters }) =>
    operation.operationId.endsWith("AuditEvents") ? parameters.filter((each) => each.name === name) : [],
  );
  expect(asked.map(({ schema }) => words(schema))).toEqual([known.toSorted(), known.toSorted()]);
});

test.each(["CreateOAuthClientRequest", "CreatePersonalAccessTokenRequest"])("%s accepts every scope", (name) => {
  expect(words(document.components.schemas[name]?.properties?.["scopes"]?.items)).toEqual(SCOPES.toSorted());
});

test("the documented error reasons equal those of the code", () => {
  expect(words(document.components.schemas["ErrorReason"])).toEqual(ERROR_REASONS.toSorted());
});
