import eslint from "@eslint/js";
import { defineConfig, globalIgnores } from "eslint/config";
import regexp from "eslint-plugin-regexp";
import reactHooks from "eslint-plugin-react-hooks";
import tseslint from "typescript-eslint";

const relativeImportNeedsExtension = {
  selector:
    ":matches(ImportDeclaration, ExportNamedDeclaration, ExportAllDeclaration)[source.value=/^\\./]:not([source.value=/\\.(tsx?|js|json|css)$/])",
  message: "Node runs the source itself: a relative import ends in .ts.",
};

export default defineConfig(
  globalIgnores([
    "gen/",
    "src/console/dist/",
    "src/reference/dist/",
    "coverage/",
    ".patchbay/",
    "bench/results/",
    // Compiled where what they import is installed: test/clients/.
    "examples/",
  ]),
  eslint.configs.recommended,
  {
    files: ["**/*.ts", "**/*.tsx"],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "max-lines": ["error", { max: 300 }],
      "no-console": "error",
      eqeqeq: "error",
      "no-restricted-exports": [
        "error",
        {
          restrictDefaultExports: {
            direct: true,
            named: true,
            defaultFrom: true,
            namedFrom: true,
            namespaceFrom: true,
          },
        },
      ],
      "no-restricted-syntax": ["error", relativeImportNeedsExtension],
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/no-import-type-side-effects": "error",
      // A narrowing cast is a claim that nothing checks. A named parser may make it, with a disable comment that says why.
      "@typescript-eslint/no-unsafe-type-assertion": "error",
      "@typescript-eslint/switch-exhaustiveness-check": ["error", { considerDefaultExhaustiveForUnions: true }],
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_", ignoreRestSiblings: true }],
      // A port may be asynchronous where one of its implementations is not.
      "@typescript-eslint/require-await": "off",
      // `type` where it names a shape of JSON, `interface` elsewhere: both are in use, each for its own purpose.
      "@typescript-eslint/consistent-type-definitions": "off",
      "@typescript-eslint/consistent-indexed-object-style": "off",
      // Brackets mark a key that comes from outside.
      "@typescript-eslint/dot-notation": "off",
      "@typescript-eslint/no-dynamic-delete": "off",
      "@typescript-eslint/no-empty-function": ["error", { allow: ["arrowFunctions"] }],
    },
  },
  {
    // These patterns match text that upstreams and tenants send, so none may take more than linear time.
    files: ["src/**/*.ts", "src/**/*.tsx", "bench/**/*.ts"],
    plugins: { regexp },
    rules: {
      "regexp/no-super-linear-backtracking": ["error", { report: "potential" }],
      "regexp/no-super-linear-move": ["error", { report: "potential" }],
    },
  },
  {
    // The expression builder of Kysely is bound, and made to be taken apart.
    files: ["src/storage/**/*.ts"],
    rules: { "@typescript-eslint/unbound-method": "off" },
  },
  { files: ["src/console/**/*.tsx", "src/console/**/*.ts"], extends: [reactHooks.configs.flat.recommended] },
  {
    files: ["**/*.js"],
    languageOptions: { globals: { URL: "readonly" } },
  },
  {
    // Tests look at wire answers whose shape they are about to assert.
    files: ["test/**/*.ts", "bench/**/*.ts"],
    rules: {
      "no-console": "off",
      // Tables of cases are long and simple.
      "max-lines": ["error", { max: 450 }],
      "@typescript-eslint/no-misused-spread": "off",
      "@typescript-eslint/no-unsafe-argument": "off",
      "@typescript-eslint/no-unnecessary-type-assertion": "off",
      "@typescript-eslint/no-unsafe-type-assertion": "off",
      "@typescript-eslint/no-unsafe-assignment": "off",
      "@typescript-eslint/no-unsafe-member-access": "off",
      "@typescript-eslint/no-unsafe-return": "off",
      "@typescript-eslint/no-base-to-string": "off",
      "@typescript-eslint/unbound-method": "off",
      // What a failed set-up left undefined is still tidied up.
      "@typescript-eslint/no-unnecessary-condition": "off",
      "@typescript-eslint/no-unsafe-enum-assignment": "off",
    },
  },
  {
    files: ["**/*.config.ts", "**/*.d.ts"],
    rules: { "no-restricted-exports": "off" },
  },
);
