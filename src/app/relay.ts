import type { Logger } from "pino";
import { createParkedCalls, type ParkedCalls } from "../runtime/relay/parked-calls.ts";
import { createRelayMessages, type RelayMessages } from "../runtime/relay/relay-messages.ts";
import { createRequestStates, type RequestStates } from "../runtime/relay/request-state.ts";
import { createSessionAnswers, type SessionAnswers } from "../runtime/relay/session-answers.ts";
import type { Listener } from "../storage/listener.ts";
import { createStateSealer } from "../storage/state-sealer.ts";
import { createRelayFeed, createRelayStore } from "../storage/stores/sessions/relay-message.ts";
import type { Foundation } from "./foundation.ts";

/** The parts that relay requests of upstreams to clients. */
export interface RelayParts {
  readonly requestStates: RequestStates;
  readonly parkedCalls: ParkedCalls;
  readonly sessionAnswers: SessionAnswers;
  readonly relays: RelayMessages;
}

export async function composeRelay(
  { database, sealer }: Foundation,
  listener: Listener,
  log: Logger,
): Promise<RelayParts> {
  const feed = await createRelayFeed(listener);
  const relays = createRelayMessages({ store: createRelayStore(database.orm, sealer), feed, log });
  return {
    requestStates: createRequestStates(createStateSealer(sealer)),
    parkedCalls: createParkedCalls(relays),
    sessionAnswers: createSessionAnswers(relays),
    relays,
  };
}
