import { expect } from "vitest";
import type { JsonObject } from "../../src/json.ts";
import type { ProtocolClient } from "./clients.ts";
import { until } from "./until.ts";

/** The actions of a connection owner. Each must succeed. */
export interface Owner {
  readonly token: string;
  call(operation: string, input?: JsonObject, headers?: Readonly<Record<string, string>>): Promise<JsonObject>;
  /** Creates a connection and returns its id. */
  create(input: JsonObject): Promise<string>;
  /** Waits until the key of a connection has this state. */
  waitFor(id: string, status: "pending" | "verified" | "failed"): Promise<void>;
  /** Opens a session and returns the header for its calls. */
  open(): Promise<Readonly<Record<string, string>>>;
  /** The names of a connection's tools. */
  toolNames(id: string): Promise<readonly string[]>;
}

export function createOwner(client: ProtocolClient, token: string): Owner {
  const owner: Owner = {
    token,
    async call(operation, input = {}, headers = {}) {
      const outcome = await client.call(operation, { input, headers, token });
      expect([operation, outcome.message]).toEqual([operation, ""]);
      return Object(outcome.body) as JsonObject;
    },
    create: async (input) => String((await owner.call("CreateConnection", input))["server_id"]),
    waitFor: async (id, status) => {
      await until(
        async () => {
          const { data } = await owner.call("GetConnection", { server_id: id });
          return (data as JsonObject)["api_key_verification_status"] === status;
        },
        { what: `connection ${id} is ${status}` },
      );
    },
    open: async () => ({ "x-session-id": String((await owner.call("Initialize"))["sessionId"]) }),
    toolNames: async (id) => {
      const { data } = await owner.call("ListConnectionTools", { server_id: id });
      return (data as { tools: { name: string }[] }).tools.map(({ name }) => name);
    },
  };
  return owner;
}
