import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { load } from "js-yaml";
import { acceptedCodings } from "../../http/accept-encoding.ts";
import { contentTag, isKnown } from "../../http/entity-tag.ts";

import type { PublicRoute, RouteHandler } from "../../http/router.ts";

/** A document as it goes out: both forms ready, and a tag that changes with its content. */
interface Prepared {
  readonly plain: Buffer;
  readonly compressed: Buffer;
  readonly etag: string;
}

/** Where the contracts lie and what the service is called from outside. */
export interface DocumentsDeps {
  /** The folder of the project; the contracts in it are what runs. */
  readonly folder: URL;
  /** Without a slash at the end. */
  readonly publicUrl: string;
}

/** Seconds for which nobody need ask again; then a 304 is as good as an answer. */
const MAX_AGE_SECONDS = 300;

const compress = promisify(gzip);

/** The contract's list of servers: a service that is asked for it is the one to call. */
const SERVERS = /^servers:\n(?: .*\n)+/m;

/**
 * Serves the contracts: `/openapi.yaml` and `/openapi.json` of HTTP, `/openapi-rpc.json` and `/descriptor.binpb` of
 * RPC. Each is read and compressed when it is first asked for.
 */
export function createDocumentRoutes({ folder, publicUrl }: DocumentsDeps): readonly PublicRoute[] {
  const readContract = async (): Promise<string> => {
    const text = await readFile(new URL("openapi/patchbay.yaml", folder), "utf8");
    if (!SERVERS.test(text)) throw new Error("the contract has no list of servers");
    const servers = `servers:\n  - url: ${JSON.stringify(publicUrl)}\n    description: The service that serves this document.\n`;
    return text.replace(SERVERS, () => servers);
  };
  return [
    createDocumentRoute("/openapi.yaml", "application/yaml", readContract),
    createDocumentRoute("/openapi.json", "application/json", async () => JSON.stringify(load(await readContract()))),
    createDocumentRoute("/openapi-rpc.json", "application/json", () =>
      readFile(new URL("gen/openapi/rpc.json", folder), "utf8"),
    ),
    createDocumentRoute("/descriptor.binpb", "application/octet-stream", () =>
      readFile(new URL("gen/descriptor.binpb", folder)),
    ),
  ];
}

function createDocumentRoute(path: string, type: string, read: () => Promise<string | Buffer>): PublicRoute {
  let document: Promise<Prepared> | undefined;
  const prepare = async (): Promise<Prepared> => {
    const plain = Buffer.from(await read());
    return { plain, compressed: await compress(plain), etag: contentTag(plain) };
  };
  const get: RouteHandler = async (exchange) => {
    document ??= prepare();
    const { plain, compressed, etag } = await document.catch((error: unknown) => {
      document = undefined;
      throw error;
    });
    const headers = {
      etag,
      "cache-control": `public, max-age=${MAX_AGE_SECONDS}`,
      vary: "accept-encoding",
      "x-content-type-options": "nosniff",
    };
    if (isKnown(exchange.headers["if-none-match"], etag)) {
      exchange.respond(304, headers, "");
      return;
    }
    const isCompressed = acceptedCodings(exchange.headers["accept-encoding"]).gzip;
    const encoding = isCompressed ? { "content-encoding": "gzip" } : {};
    exchange.respond(200, { ...headers, ...encoding, "content-type": type }, isCompressed ? compressed : plain);
  };
  return { path, methods: { GET: get } };
}
