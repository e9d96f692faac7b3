import { createApp } from "../src/app/app.ts";
import { readConfig } from "../src/config.ts";
import { createLog } from "../src/log.ts";
import { LOCAL_INTEGRATION } from "./local-integration.ts";

// The whole service as `npm start` runs it, with one additional integration.
const config = readConfig();
const app = await createApp(config, createLog(config.logLevel), [LOCAL_INTEGRATION]);
process.once("SIGTERM", () => void app.close());
await app.listen();
console.log(`patchbay listening on ${config.publicUrl}`);
