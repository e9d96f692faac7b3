import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import * as connect from "../../src/client/connect.ts";
import { PROJECT_FOLDER } from "../support/child-process.ts";

const generated = globSync(`${PROJECT_FOLDER}/gen/proto/patchbay/v1/*_pb.ts`);

/** The exports of generated files whose names match. */
function exported(pattern: RegExp): string[] {
  return generated.flatMap((file) => [...readFileSync(file, "utf8").matchAll(pattern)].map((found) => found[1] ?? ""));
}

test("every service of the contract has a client", () => {
  const clients = connect.createConnectClients({ baseUrl: "http://127.0.0.1", token: "t" });
  const services = exported(/^export const (\w+)Service: GenService/gm).map((name) => name.toLowerCase());
  expect(
    Object.keys(clients)
      .map((name) => name.toLowerCase().replace(/s$/, ""))
      .sort(),
  ).toEqual(services.map((name) => name.replace(/s$/, "")).sort());
});

test("every message of the contract is exported", () => {
  const schemas = exported(/^export const (\w+Schema): GenMessage/gm).filter((name) => name !== "ErrorTextsSchema");
  expect(schemas.filter((name) => !(name in connect))).toEqual([]);
});
