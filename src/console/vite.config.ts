import { readdir, readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { brotliCompress, gzip } from "node:zlib";
import { promisify } from "node:util";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

const MOCK = "http://127.0.0.1:4010";

/** Compresses files at build time instead of on every request. */
function precompress(folder: string): Plugin {
  const encodings = { ".br": promisify(brotliCompress), ".gz": promisify(gzip) };
  return {
    name: "precompress",
    apply: "build",
    async closeBundle() {
      const names = (await readdir(folder, { recursive: true })).filter((name) => /\.(js|css|svg)$/.test(name));
      for (const name of names) {
        const content = await readFile(`${folder}/${name}`);
        for (const [suffix, compress] of Object.entries(encodings))
          await writeFile(`${folder}/${name}${suffix}`, await compress(content));
      }
    },
  };
}

/** The session of the mock, which implements only the contract; browser sessions are not part of it. */
const mockSession: Plugin = {
  name: "mock-session",
  apply: "serve",
  configureServer({ middlewares }) {
    middlewares.use("/session", (request, response) => {
      const body =
        request.method === "GET"
          ? { account_id: "acc_mock", email: "ada@acme.example", is_admin: true }
          : { access_token: "mock", expires_in: 600, scope: "mgmt.read mgmt.write mgmt.admin" };
      response.setHeader("content-type", "application/json").end(JSON.stringify(body));
    });
    // The mock speaks only HTTP, so a watch sends no events.
    middlewares.use("/patchbay.v1.ConnectionService/WatchConnections", () => undefined);
  },
};

/** Builds the console's static files. In development the API is the mock, or the service at `API_URL`. */
export default defineConfig(({ command }) => {
  const service = process.env["API_URL"];
  const api = { target: service ?? MOCK, changeOrigin: true };
  return {
    root: fileURLToPath(new URL(".", import.meta.url)),
    base: "/",
    plugins: [
      react(),
      service === undefined && mockSession,
      precompress(fileURLToPath(new URL("dist", import.meta.url))),
    ],
    // The server replaces it with a new nonce, for styles that the component library creates.
    ...(command === "build" && { html: { cspNonce: "{{nonce}}" } }),
    resolve: {
      alias: {
        "@rjsf/validator-ajv8": fileURLToPath(new URL("parts/schema-form/no-validator.js", import.meta.url)),
      },
    },
    build: {
      outDir: "dist",
      emptyOutDir: true,
      assetsDir: "assets/console",
      // No inline assets, because the content security policy forbids them.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
    },
    server: {
      port: 4020,
      strictPort: true,
      proxy: {
        "/api/v1": api,
        "/mcp": api,
        "/patchbay.v1": api,
        ...(service !== undefined && { "/session": api, "/login": api, "/assets/pages.css": api }),
      },
    },
  };
});
