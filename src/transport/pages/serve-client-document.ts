import { CLIENT_DOCUMENT_PATH, clientDocument } from "../../integrations/oauth/client-document.ts";
import type { PageRoute } from "./page-routes.ts";
import { sendJson } from "../http/node-exchange.ts";

/** Where authorization servers read who we are, without a login; the address is our `client_id` there. */
export function clientDocumentRoute(publicUrl: string): PageRoute {
  const document = clientDocument(publicUrl);
  return {
    path: CLIENT_DOCUMENT_PATH,
    isJson: true,
    GET(_request, response) {
      sendJson(response, 200, document, { "cache-control": "public, max-age=3600" });
      return Promise.resolve();
    },
  };
}
