import { isWanted, readOptions } from "../options.ts";
import { measureBesideBroken } from "./broken.ts";
import { measureCatalogCalls } from "./calls.ts";
import { measureGithub } from "./github.ts";
import { openPlace } from "./place.ts";

// Measures the catalog: calls through a contract, GitHub's document, and a failing neighbor.
const options = readOptions(process.argv.slice(2));
const place = await openPlace();
try {
  if (isWanted(options, "calls")) {
    for (const { width, direct, through, cpuMs } of await measureCatalogCalls(place, options)) {
      print(`undici itself, ${width} at a time`, direct);
      print(`tools/call through a contract, ${width} at a time`, through);
      console.log(
        `  ${(through.perSecond / direct.perSecond).toFixed(2)} × the calls, ${(through.p50 - direct.p50).toFixed(2)} ms more at p50, ${(cpuMs * 1_000).toFixed(0)} µs CPU a call`,
      );
    }
  }
  if (isWanted(options, "broken")) {
    for (const { way, others } of await measureBesideBroken(place, options)) print(`others while one ${way}`, others);
  }
  if (isWanted(options, "github")) {
    if (place.hasGithub) console.log(await measureGithub(place));
    else console.log("GitHub's document is not here: npm run fixture:github");
  }
} finally {
  await place.close();
}

function print(
  what: string,
  { perSecond, p50, p99 }: Awaited<ReturnType<typeof measureBesideBroken>>[number]["others"],
) {
  console.log(
    `${what.padEnd(52)}${perSecond.toFixed(0).padStart(7)}/s  p50 ${p50.toFixed(2)} ms  p99 ${p99.toFixed(2)} ms`,
  );
}
