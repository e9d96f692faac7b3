import { html } from "../html.ts";
import { renderPage } from "../page.ts";
import { createAssets } from "./assets.ts";
import { createBuiltPage } from "./built-page.ts";
import type { PublicRoute } from "../../http/router.ts";

const NOT_BUILT = renderPage({
  title: "No reference",
  body: html`<h1>The API reference is not built</h1>
    <p>
      Run <code>npm run build:reference</code> where Patchbay is installed. The contract itself is at
      <a href="/openapi.yaml">/openapi.yaml</a>.
    </p>`,
});

/** Serves the API reference at `/docs` from the folder of its build. */
export function createReferenceRoutes(folder: string): readonly PublicRoute[] {
  return [
    { path: "/docs", methods: createBuiltPage(folder, NOT_BUILT, { fonts: "'self'", forms: "'none'" }) },
    { path: "/assets/docs/*", methods: createAssets(folder) },
  ];
}
