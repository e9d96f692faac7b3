/**
 * Builds the console's static files. Runs after an install, so that `npm start` needs no step of its own. An install without
 * development dependencies has nothing to build with and keeps what it finds.
 */
import { fileURLToPath } from "node:url";

async function loadVite() {
  try {
    return await import("vite");
  } catch (error) {
    if (error.code !== "ERR_MODULE_NOT_FOUND") throw error;
    return undefined;
  }
}

const vite = await loadVite();
await vite?.build({ configFile: fileURLToPath(new URL("vite.config.ts", import.meta.url)), logLevel: "warn" });
