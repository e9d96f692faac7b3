// Generates the RPC descriptor and OpenAPI document from the proto files in the current directory.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createRpcDocument } from "./rpc-document.ts";

execFileSync("buf", ["build", "-o", "gen/descriptor.binpb"], { stdio: "inherit" });
writeFileSync(
  "gen/openapi/rpc.json",
  `${JSON.stringify(createRpcDocument(readFileSync("gen/descriptor.binpb")), null, 1)}\n`,
);
