import type { components } from "../../../gen/openapi/patchbay.ts";

/** The schemas of the HTTP contract by name. */
export type Schemas = components["schemas"];
