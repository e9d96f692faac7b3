import type { JsonValue } from "../../../json.ts";
import { JSON_HEADERS } from "../../http/answer.ts";
import type { HttpExchange } from "../../http/exchange.ts";
import { errorText, idOf } from "../message.ts";
import type { RpcFault } from "../rpc-fault.ts";

/** Sends an error with the id of the body, if it is known. */
export function answerRpcFault(exchange: HttpExchange, body: JsonValue | undefined, fault: RpcFault): void {
  if (exchange.hasAnswered) {
    exchange.destroy();
    return;
  }
  const headers = { ...JSON_HEADERS, ...fault.headers };
  exchange.respond(fault.httpStatus, headers, errorText(body === undefined ? undefined : idOf(body), fault));
}
