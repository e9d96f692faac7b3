// Lists what each vendor contract lacks for the catalog. Fails if one lacks something.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { integrationFaults } from "./integration-faults.ts";

const folder = fileURLToPath(new URL("../../openapi/integrations", import.meta.url));

for (const file of readdirSync(folder).filter((name) => name.endsWith(".yaml"))) {
  for (const fault of integrationFaults(file, readFileSync(join(folder, file), "utf8"))) {
    console.error(`openapi/integrations/${file}: ${fault}`);
    process.exitCode = 1;
  }
}
