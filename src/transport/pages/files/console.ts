import { html } from "../html.ts";
import { renderPage } from "../page.ts";
import { createAssets } from "./assets.ts";
import { createBuiltPage } from "./built-page.ts";
import type { PublicRoute } from "../../http/router.ts";

/** The paths of the console's own router. Keep them equal to those in `src/console/router.tsx`. */
const ADDRESSES = ["/", "/connections", "/connections/*", "/agents", "/tokens", "/activity", "/settings", "/admin"];

/** Path of the built scripts and styles. Their names change with their content. */
const ASSETS = "/assets/console/*";

const NOT_BUILT = renderPage({
  title: "No console",
  body: html`<h1>The console is not built</h1>
    <p>Run <code>npm run build:console</code> where Patchbay is installed. The API works without it.</p>`,
});

/** Serves the web console from the folder of its build. */
export function createConsoleRoutes(folder: string): readonly PublicRoute[] {
  const methods = createBuiltPage(folder, NOT_BUILT, { forms: "'self'" });
  return [...ADDRESSES.map((path) => ({ path, methods })), { path: ASSETS, methods: createAssets(folder) }];
}
