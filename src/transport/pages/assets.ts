import sirv from "sirv";
import { errorBody } from "../http/answer.ts";
import type { NodeRoute } from "../http/router.ts";

type Pair = Parameters<NodeRoute["handle"]>;

/** Serves a folder of files whose names change with their content, so a browser that has one need never ask again. */
export function createAssets(folder: string): (...pair: Pair) => void {
  let serve: ReturnType<typeof sirv> | undefined;
  return (request, response) => {
    // Not before the first request: a start need not look at the files.
    serve ??= sirv(folder, { etag: true, gzip: true, brotli: true, immutable: true, maxAge: 31_536_000 });
    response.setHeader("x-content-type-options", "nosniff");
    // The library is typed for HTTP/1, whose requests and responses those of HTTP/2 stand in for.
    const [http1Request, http1Response] = [request, response] as Parameters<typeof serve>;
    serve(http1Request, http1Response, () => {
      response.writeHead(404, { "content-type": "application/json" }).end(errorBody("ROUTE_NOT_FOUND", "Not found."));
    });
  };
}
