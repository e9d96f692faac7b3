import {
  CALLBACK_PATH,
  callbackPathIn,
  CLIENT_DOCUMENT_PATH,
  CLIENT_DOCUMENTS_PATH,
  clientDocument,
} from "../../../integrations/oauth/client-document.ts";
import { answerJson } from "../../http/answer.ts";
import { routeNotFound } from "../../http/fault.ts";
import type { RouteHandler } from "../../http/router.ts";
import type { PageRoute } from "../serve-pages.ts";

/** The client metadata document for authorization servers, without a login. Its address is our `client_id` there. */
export function clientDocumentRoutes(publicUrl: string): readonly PageRoute[] {
  const get: RouteHandler = (exchange) => {
    const [path = ""] = exchange.target.split("?", 1);
    const callbackPath = path === CLIENT_DOCUMENT_PATH ? CALLBACK_PATH : callbackPathIn(path);
    if (callbackPath === undefined) throw routeNotFound();
    const document = clientDocument(publicUrl, path, callbackPath);
    answerJson(exchange, 200, document, { "cache-control": "public, max-age=3600" });
  };
  return [CLIENT_DOCUMENT_PATH, `${CLIENT_DOCUMENTS_PATH}/*`].map((path) => ({
    path,
    isJson: true,
    methods: { GET: get },
  }));
}
