import { STYLE, STYLE_PATH, STYLE_VERSION } from "../page.ts";
import type { PageRoute } from "../serve-pages.ts";

/** Serves the style sheet. Its address contains its version, so it never changes. */
export const styleRoute: PageRoute = {
  path: STYLE_PATH,
  methods: {
    GET: (exchange, { query }) => {
      const isVersioned = new URLSearchParams(query).get("v") === STYLE_VERSION;
      const headers = {
        "content-type": "text/css; charset=utf-8",
        "cache-control": isVersioned ? "public, max-age=31536000, immutable" : "no-cache",
        "x-content-type-options": "nosniff",
        "cross-origin-resource-policy": "same-origin",
      };
      exchange.respond(200, headers, STYLE);
    },
  },
};
