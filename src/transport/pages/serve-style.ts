import { STYLE, STYLE_PATH, STYLE_VERSION } from "./page.ts";
import type { PageRoute } from "./page-routes.ts";

/** The pages' style sheet; under its version's address it never changes. */
export const styleRoute: PageRoute = {
  path: STYLE_PATH,
  async GET(request, response, query) {
    const isVersioned = query.get("v") === STYLE_VERSION;
    response.statusCode = 200;
    response.setHeader("content-type", "text/css; charset=utf-8");
    response.setHeader("cache-control", isVersioned ? "public, max-age=31536000, immutable" : "no-cache");
    response.setHeader("x-content-type-options", "nosniff");
    response.setHeader("cross-origin-resource-policy", "same-origin");
    response.setHeader("content-length", Buffer.byteLength(STYLE));
    if (request.method === "HEAD") response.end();
    else response.end(STYLE);
  },
};
