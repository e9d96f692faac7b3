/**
 * Builds the console's static files. Runs after an install, so that `npm start` needs no build step. Without
 * development dependencies it keeps the existing files.
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
