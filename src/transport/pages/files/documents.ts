import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { dump, load } from "js-yaml";
import { acceptedCodings } from "../../http/accept-encoding.ts";
import { contentTag, isKnown } from "../../http/entity-tag.ts";

import type { PublicRoute, RouteHandler } from "../../http/router.ts";

/** A document to serve: plain and compressed, with an `ETag`. */
interface Prepared {
  readonly plain: Buffer;
  readonly compressed: Buffer;
  readonly etag: string;
}

/** The location of the contracts, and the public address of the service. */
export interface DocumentsDeps {
  /** The root folder of the project, which contains the contracts. */
  readonly folder: URL;
  /** Without a trailing slash. */
  readonly publicUrl: string;
}

/** How long caches may reuse the document, in seconds. Afterwards the `ETag` makes revalidation cheap. */
const MAX_AGE_SECONDS = 300;

const compress = promisify(gzip);

/** The contract's list of servers, which is replaced by this service's address. */
const SERVERS = /^servers:\n(?: .*\n)+/m;

/**
 * Serves the contracts: `/openapi.yaml` and `/openapi.json` for HTTP, `/openapi-rpc.json` and `/descriptor.binpb` for
 * RPC. Each is read and compressed on its first request.
 */
export function createDocumentRoutes({ folder, publicUrl }: DocumentsDeps): readonly PublicRoute[] {
  const readContract = async (): Promise<string> => {
    const text = await readFile(new URL("openapi/patchbay.yaml", folder), "utf8");
    if (!SERVERS.test(text)) throw new Error("the contract has no list of servers");
    const servers = `servers:\n  - url: ${JSON.stringify(publicUrl)}\n    description: The service that serves this document.\n`;
    return text.replace(SERVERS, () => servers);
  };
  return [
    // Without anchors: YAML parsers of other languages reject some anchors, and documents with too many of them.
    createDocumentRoute("/openapi.yaml", "application/yaml", async () =>
      dump(load(await readContract()), { noRefs: true, lineWidth: -1 }),
    ),
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
