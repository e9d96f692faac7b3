/** A `fetch` for an MCP client, and a promise for the time when its notification stream is open. */
export interface ChangeStreamFetch {
  readonly fetch: (url: string | URL, init?: RequestInit) => Promise<Response>;
  readonly opened: Promise<undefined>;
}

/** The stream is the response to a GET or, since revision 2026-07-28, to `subscriptions/listen`. */
export function createChangeStreamFetch(): ChangeStreamFetch {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  return {
    opened: promise,
    fetch: async (url, init) => {
      const response = await fetch(url, init);
      const { method, body } = init ?? {};
      const isStream = method === "GET" || (typeof body === "string" && body.includes('"subscriptions/listen"'));
      if (isStream && response.ok) resolve(undefined);
      return response;
    },
  };
}
