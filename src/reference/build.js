/**
 * Builds the static files of the API reference after an install, like the console's. Without development dependencies
 * it keeps the existing files.
 */
import { createHash } from "node:crypto";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import process from "node:process";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";

/**
 * Scalar's browser script. Its package for Fastify is the smallest that contains the whole script (1 MB;
 * `@scalar/api-reference` brings 10 MB and Vue's ecosystem). The plugin returns it for its route.
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

/** Two levels below the best: the result is a tenth larger, but an install is eight seconds faster. */
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
  // Built elsewhere and then renamed, so that a running service has either the old files or the new ones.
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
