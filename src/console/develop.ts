/** Develops the console: Vite on port 4020, in front of the mock (port 4010) or of the service that `API_URL` names. */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { createServer } from "vite";

const mock =
  process.env["API_URL"] === undefined
    ? spawn("npm", ["run", "-s", "mock"], { cwd: fileURLToPath(new URL("../..", import.meta.url)), stdio: "inherit" })
    : undefined;
process.once("exit", () => mock?.kill());
const server = await createServer({ configFile: fileURLToPath(new URL("vite.config.ts", import.meta.url)) });
await server.listen();
server.printUrls();
