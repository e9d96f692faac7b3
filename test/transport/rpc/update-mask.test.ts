import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { UpdateConnectionRequestSchema } from "../../../gen/proto/patchbay/v1/connection_service_pb.ts";
import { UpdateOAuthClientRequestSchema } from "../../../gen/proto/patchbay/v1/oauth_client_service_pb.ts";
import { readComments } from "../../contract/proto-surface.ts";
import { fromUpdateRequest } from "../../../src/transport/rpc/mappers/connection-change.ts";
import { fromUpdateClientRequest } from "../../../src/transport/rpc/mappers/oauth-client-change.ts";

type Update = Parameters<typeof create<typeof UpdateConnectionRequestSchema>>[1];

/** Returns the fields that a request changes. */
function changed(update: Update): object {
  const change = fromUpdateRequest(create(UpdateConnectionRequestSchema, update));
  return Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
}

function messageOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof Error) return error.message;
  }
  throw new Error("nothing was thrown");
}

test("applies the fields that are present if the request has no mask", () => {
  expect(changed({ name: "", agentEnabled: false, disabledTools: [3] })).toEqual({
    name: "",
    agentEnabled: false,
    disabledTools: [3],
  });
});

test("applies only the fields that the mask names", () => {
  expect(changed({ name: "a", agentEnabled: false, updateMask: { paths: ["agent_enabled"] } })).toEqual({
    agentEnabled: false,
  });
});

test("clears a list that the mask names", () => {
  expect(changed({ updateMask: { paths: ["disabled_tools"] } })).toEqual({ disabledTools: [] });
});

test("applies all fields that are present, and empty lists, for the mask *", () => {
  expect(changed({ name: "a", updateMask: { paths: ["*"] } })).toEqual({ name: "a", disabledTools: [] });
});

test("changes nothing for an empty mask, which an empty REST body produces", () => {
  expect(changed({ name: "a", updateMask: { paths: [] } })).toEqual({});
});

test.each<readonly [title: string, field: string, update: Update]>([
  ["no field and no mask", "update_mask", {}],
  ["an empty list and no mask", "update_mask", { disabledTools: [] }],
  ["* together with a field", "update_mask", { name: "a", updateMask: { paths: ["*", "name"] } }],
  ["an unknown field in the mask", "update_mask", { updateMask: { paths: ["created_at"] } }],
  ["an inherited property of every object in the mask", "update_mask", { updateMask: { paths: ["constructor"] } }],
  ["a field in the mask that is not supplied", "name", { updateMask: { paths: ["name"] } }],
])("rejects %s", (_title, field, update) => {
  expect(() => changed(update)).toThrow(expect.objectContaining({ kind: "invalid", field }) as Error);
});

test("the contract lists every field that the mask accepts", () => {
  const documented = readComments().get("UpdateConnectionRequest.update_mask") ?? "";
  const [, list = ""] = /to change: (.*)\. To clear/.exec(messageOf(() => changed({}))) ?? [];
  expect(list.split(", ")).toEqual([...documented.matchAll(/`([a-z0-9_]+)`/g)].map(([, name]) => name));
});

test("clears the redirect URIs of a client only if the mask names them", () => {
  const update = (fields: object) => fromUpdateClientRequest(create(UpdateOAuthClientRequestSchema, fields));
  expect(update({ name: "a" })).toEqual({ name: "a", redirectUris: undefined });
  expect(update({ updateMask: { paths: ["redirect_uris"] } })).toEqual({ name: undefined, redirectUris: [] });
  expect(() => update({ redirectUris: [] })).toThrow("supplies no field to change: name, redirect_uris");
});
