import { fileURLToPath } from "node:url";
import { createDocumentRoutes } from "../transport/pages/documents.ts";
import { createReferenceRoutes } from "../transport/pages/reference.ts";
import type { PublicRoute } from "../transport/http/router.ts";

/** The contracts as files and the reference made of them. */
export function composeDocumentation(publicUrl: string): readonly PublicRoute[] {
  return [
    ...createDocumentRoutes({ folder: new URL("../../", import.meta.url), publicUrl }),
    ...createReferenceRoutes(fileURLToPath(new URL("../reference/dist", import.meta.url))),
  ];
}
