import type { JsonObject } from "../src/json.ts";

/** Calls the service during preparation. */
export type Caller = (method: string, path: string, body?: JsonObject) => Promise<JsonObject>;

/** Throws for any response without success. */
export function createCaller(url: string, token: string): Caller {
  return async (method, path, body) => {
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body !== undefined && { "content-type": "application/json" }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return JSON.parse(text) as JsonObject;
  };
}
