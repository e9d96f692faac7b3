import { createContext, useContext } from "react";
import type { ApiClient } from "./client.ts";
import type { BrowserSession } from "./session.ts";

/** What pages use to reach the API. */
export interface Api {
  readonly client: ApiClient;
  readonly session: BrowserSession;
}

export const ApiContext = createContext<Api | undefined>(undefined);

/** The API client of the page. Throws outside of the console's tree. */
export function useApi(): Api {
  const api = useContext(ApiContext);
  if (api === undefined) throw new Error("There is no API around this component.");
  return api;
}
