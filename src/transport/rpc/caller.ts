import { createContextKey, type ContextKey, type ContextValues } from "@connectrpc/connect";
import { type Caller, toOrigin } from "../../identity/actor.ts";
import type { HttpExchange } from "../http/exchange.ts";
import { requestOrigin } from "../http/peer.ts";
import { principalOf } from "./principal.ts";

/** The exchange that a call came in with. */
export const exchangeKey: ContextKey<HttpExchange | undefined> = createContextKey<HttpExchange | undefined>(undefined, {
  description: "exchange",
});

/** Who makes a call, and from where: for handlers whose calls are written down. */
export type CallerOf = (context: { readonly values: ContextValues }) => Caller;

/** Makes the function that tells who makes a call; `trustProxy` says whether X-Forwarded-For is believed. */
export function createCallerOf(trustProxy: boolean): CallerOf {
  return (context) => {
    const exchange = context.values.get(exchangeKey);
    const origin = exchange === undefined ? toOrigin("", undefined) : requestOrigin(exchange, trustProxy);
    return { ...principalOf(context), origin };
  };
}
