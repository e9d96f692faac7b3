import type { RelayedClient } from "../../integrations/relayed-client.ts";
import type { PauseLimits } from "./running-calls.ts";

/** A client whose response times do not count towards the time limits of the call. */
export function pauseWhileAsked(client: RelayedClient | undefined, pause: PauseLimits): RelayedClient | undefined {
  if (client === undefined) return undefined;
  return {
    capabilities: client.capabilities,
    get audience() {
      return client.audience;
    },
    input: client.input,
    notify: (method, params) => client.notify(method, params),
    async ask(request, signal) {
      const resume = pause();
      try {
        return await client.ask(request, signal);
      } finally {
        resume();
      }
    },
  };
}
