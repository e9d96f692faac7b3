import { readDocument } from "../contract/document.ts";
import { startPrismMock } from "../support/prism.ts";
import { startFront } from "./front.ts";
import { createStory } from "./story.ts";

// npm run mock [-- --dynamic] [--port 4010]: serves the HTTP contract for client development.
const args = process.argv.slice(2);
const isDynamic = args.includes("--dynamic");
const port = args.includes("--port") ? Number(args[args.indexOf("--port") + 1]) : 4010;
const prism = await startPrismMock("openapi/patchbay.yaml", isDynamic ? ["--dynamic"] : []);
const choose = createStory(await readDocument());
const front = await startFront({
  port,
  prismPort: Number(new URL(prism.url).port),
  // Generated responses match no example, but invalid requests are rejected all the same.
  choose: (asked) => {
    const prefer = choose(asked);
    return isDynamic && prefer?.startsWith("example=") === true ? undefined : prefer;
  },
});
process.stdout.write(`mock listening on ${front.url}\n`);

function end(): void {
  void Promise.all([front.close(), prism.stop()]).then(() => process.exit(0));
}
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, end);
// A killed npm sends no signal, so the mock watches its parent process.
const parent = process.ppid;
if (process.env["npm_lifecycle_event"] === "mock") setInterval(() => process.ppid !== parent && end(), 500).unref();
