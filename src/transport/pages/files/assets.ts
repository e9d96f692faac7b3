import sirv from "sirv";
import { routeNotFound } from "../../http/fault.ts";
import type { RouteMethods } from "../../http/router.ts";

/** Serves a folder of files whose names change with their content, so browsers cache them forever. */
export function createAssets(folder: string): RouteMethods {
  let serve: ReturnType<typeof sirv> | undefined;
  return {
    GET: (exchange) => {
      // Reads the folder on the first request, so that the start is not slowed.
      const files = (serve ??= sirv(folder, {
        etag: true,
        gzip: true,
        brotli: true,
        immutable: true,
        maxAge: 31_536_000,
      }));
      const { request, response } = exchange.toNode();
      response.setHeader("x-content-type-options", "nosniff");
      return new Promise((resolve, reject) => {
        response.once("close", resolve);
        files(request, response, () => {
          reject(routeNotFound());
        });
      });
    },
  };
}
