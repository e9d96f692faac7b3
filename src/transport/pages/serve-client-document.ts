import {
  CALLBACK_PATH,
  callbackPathIn,
  CLIENT_DOCUMENT_PATH,
  CLIENT_DOCUMENTS_PATH,
  clientDocument,
} from "../../integrations/oauth/client-document.ts";
import { DomainError } from "../../domain-error.ts";
import type { PageHandler, PageRoute } from "./page-routes.ts";
import { sendJson } from "../http/node-exchange.ts";

/** Where authorization servers read who we are, without a login; the address is our `client_id` there. */
export function clientDocumentRoutes(publicUrl: string): readonly PageRoute[] {
  const GET: PageHandler = (request, response) => {
    const [path = ""] = (request.url ?? "").split("?", 1);
    const callbackPath = path === CLIENT_DOCUMENT_PATH ? CALLBACK_PATH : callbackPathIn(path);
    if (callbackPath === undefined) throw new DomainError("not_found", "Not found.");
    const document = clientDocument(publicUrl, path, callbackPath);
    sendJson(response, 200, document, { "cache-control": "public, max-age=3600" });
    return Promise.resolve();
  };
  return [CLIENT_DOCUMENT_PATH, `${CLIENT_DOCUMENTS_PATH}/*`].map((path) => ({ path, isJson: true, GET }));
}
