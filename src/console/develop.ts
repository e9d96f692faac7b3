/**
 * Runs the console for development: Vite on port 4020, in front of the mock (port 4010) or of the service at `API_URL`.
 */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { createServer } from "vite";

if (process.env["API_URL"] === undefined) {
  const cwd = fileURLToPath(new URL("../..", import.meta.url));
  const { pid } = spawn("npm", ["run", "-s", "mock"], { cwd, stdio: "inherit", detached: true });
  // Stops the process group, because npm starts the mock as a separate process.
  process.once("exit", () => pid !== undefined && process.kill(-pid));
}
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit());
const server = await createServer({ configFile: fileURLToPath(new URL("vite.config.ts", import.meta.url)) });
await server.listen();
server.printUrls();
