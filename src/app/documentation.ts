import { fileURLToPath } from "node:url";
import { createDocumentRoutes } from "../transport/pages/files/documents.ts";
import { createReferenceRoutes } from "../transport/pages/files/reference.ts";
import type { PublicRoute } from "../transport/http/router.ts";

/** Routes of the contract files and the API reference. */
export function composeDocumentation(publicUrl: string): readonly PublicRoute[] {
  return [
    ...createDocumentRoutes({ folder: new URL("../../", import.meta.url), publicUrl }),
    ...createReferenceRoutes(fileURLToPath(new URL("../reference/dist", import.meta.url))),
  ];
}
