import { createContextKey, type ContextKey, type ContextValues } from "@connectrpc/connect";
import { type Caller, type Origin, toOrigin } from "../../identity/actor.ts";
import { clientAddress } from "../gate/client-address.ts";
import type { Exchange } from "../http/exchange.ts";
import { principalOf } from "./principal.ts";

/** The exchange that a call came in with. */
export const exchangeKey: ContextKey<Exchange | undefined> = createContextKey<Exchange | undefined>(undefined, {
  description: "exchange",
});

/** Who makes a call, and from where: for handlers whose calls are written down. */
export type CallerOf = (context: { readonly values: ContextValues }) => Caller;

/** Makes the function that tells who makes a call; `trustProxy` says whether X-Forwarded-For is believed. */
export function createCallerOf(trustProxy: boolean): CallerOf {
  return (context) => ({ ...principalOf(context), origin: originOf(context.values.get(exchangeKey), trustProxy) });
}

function originOf(exchange: Exchange | undefined, trustProxy: boolean): Origin {
  if (exchange === undefined) return toOrigin("", undefined);
  return toOrigin(clientAddress(exchange, trustProxy), exchange.headers["user-agent"]);
}
