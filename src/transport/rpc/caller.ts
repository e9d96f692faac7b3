import { createContextKey, type ContextKey, type ContextValues } from "@connectrpc/connect";
import { type Caller, toOrigin } from "../../identity/actor.ts";
import type { HttpExchange } from "../http/exchange.ts";
import { requestOrigin } from "../http/peer.ts";
import { principalOf } from "./principal.ts";

/** The HTTP exchange of a call. */
export const exchangeKey: ContextKey<HttpExchange | undefined> = createContextKey<HttpExchange | undefined>(undefined, {
  description: "exchange",
});

/** Returns the caller and its address, for calls that are audited. */
export type CallerOf = (context: { readonly values: ContextValues }) => Caller;

/** Creates a `CallerOf`. `trustProxy` says whether to trust X-Forwarded-For. */
export function createCallerOf(trustProxy: boolean): CallerOf {
  return (context) => {
    const exchange = context.values.get(exchangeKey);
    const origin = exchange === undefined ? toOrigin("", undefined) : requestOrigin(exchange, trustProxy);
    return { ...principalOf(context), origin };
  };
}
