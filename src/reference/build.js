/**
 * Builds the static files of the API reference. Runs after an install, as the console's build does. An install without
 * development dependencies has nothing to build with and keeps what it finds.
 */
import { createHash } from "node:crypto";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import process from "node:process";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";

/**
 * Scalar's browser script. Its package for Fastify is the smallest that holds it in one piece (1 MB to fetch, where
 * `@scalar/api-reference` brings 10 MB and Vue's ecosystem), and its plugin hands it to whoever asks for its route.
 */
async function readScalar() {
  let plugin;
  try {
    ({ default: plugin } = await import("@scalar/fastify-api-reference"));
  } catch (error) {
    if (error.code !== "ERR_MODULE_NOT_FOUND") throw error;
    return undefined;
  }
  let script;
  const route = ({ url, handler }) => {
    if (!url.endsWith(".js")) return;
    const reply = { header: () => reply, send: (content) => (script = content) };
    handler({}, reply);
  };
  const host = { route, hasPlugin: () => false, initialConfig: {}, log: { warn: () => {} } };
  plugin(host, { configuration: { url: "/openapi.json" } }, () => {});
  if (typeof script !== "string") throw new Error("Scalar's package no longer hands out its script");
  return script.replace(/\n\/\/# sourceMappingURL=\S+\s*$/, "\n");
}

/** Two steps below the best: a tenth larger, and an install does not wait eight seconds for it. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };

const here = new URL(".", import.meta.url);
const scalar = await readScalar();
if (scalar !== undefined) {
  const files = {
    "within-policy.js": await readFile(new URL("within-policy.js", here), "utf8"),
    "reference.js": scalar,
    "start.js": await readFile(new URL("start.js", here), "utf8"),
    "icon.svg": await readFile(new URL("../console/icon.svg", here), "utf8"),
  };
  // Made elsewhere and then put in place: a service that runs meanwhile has the old files or the new.
  const [fresh, target] = [new URL(`dist-${process.pid}/`, here), new URL("dist/", here)];
  await mkdir(new URL("assets/docs/", fresh), { recursive: true });
  let page = await readFile(new URL("page.html", here), "utf8");
  for (const [name, content] of Object.entries(files)) {
    const digest = createHash("sha256").update(content).digest("hex").slice(0, 12);
    const address = `assets/docs/${name.replace(".", `-${digest}.`)}`;
    page = page.replace(`{{${name}}}`, `/${address}`);
    await writeFile(new URL(address, fresh), content);
    await writeFile(new URL(`${address}.gz`, fresh), await promisify(gzip)(content));
    await writeFile(new URL(`${address}.br`, fresh), await promisify(brotliCompress)(content, BROTLI));
  }
  await writeFile(new URL("index.html", fresh), page);
  await rm(target, { recursive: true, force: true });
  await rename(fresh, target);
}
