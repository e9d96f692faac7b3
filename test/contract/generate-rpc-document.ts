// Generates what describes the RPC face to people and programs, from the proto files of the folder it runs in.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createRpcDocument } from "./rpc-document.ts";

execFileSync("buf", ["build", "-o", "gen/descriptor.binpb"], { stdio: "inherit" });
writeFileSync(
  "gen/openapi/rpc.json",
  `${JSON.stringify(createRpcDocument(readFileSync("gen/descriptor.binpb")), null, 1)}\n`,
);
