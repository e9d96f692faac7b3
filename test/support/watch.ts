import { createGrpcTransport } from "@connectrpc/connect-node";
import { fromJson, toJson } from "@bufbuild/protobuf";
import { ConnectionService } from "../../gen/proto/patchbay/v1/connection_service_pb.ts";
import type { JsonObject } from "../../src/json.ts";
import { serverSentEvents } from "./server-sent-events.ts";
import { until } from "./until.ts";

/** A watch that runs during a test. */
export interface Watch {
  /** All events so far. */
  readonly events: readonly JsonObject[];
  /** Resolves when the stream ends, with undefined or its error. */
  readonly ended: Promise<unknown>;
  /** Waits for a matching event. */
  event(fits: (event: JsonObject) => boolean, what: string): Promise<JsonObject>;
  close(): void;
}

function watching(stream: (signal: AbortSignal) => AsyncIterable<JsonObject>): Watch {
  const events: JsonObject[] = [];
  const controller = new AbortController();
  const ended = (async () => {
    try {
      for await (const event of stream(controller.signal)) events.push(event);
      return undefined;
    } catch (error) {
      return controller.signal.aborted ? undefined : error;
    }
  })();
  return {
    events,
    ended,
    event: (fits, what) => until(() => Promise.resolve(events.find(fits)), { what }),
    close: () => controller.abort(),
  };
}

/** Watches over server-sent events. An error ends the stream with an event `error`. */
export function watchRest(url: string, token: string, serverId?: string): Watch {
  return watching(async function* (signal) {
    const path = serverId === undefined ? "events" : `${serverId}/events`;
    const headers = { authorization: `Bearer ${token}` };
    const response = await fetch(`${url}/api/v1/mcp-servers/${path}`, { headers, signal });
    if (response.status !== 200) throw new Error(`the watch returned ${String(response.status)}`);
    for await (const { event, data } of serverSentEvents(response)) {
      yield { event: event ?? "", ...(JSON.parse(data) as JsonObject) };
    }
  });
}

export function watchGrpc(url: string, token: string, serverId?: string): Watch {
  const method = ConnectionService.method.watchConnections;
  return watching(async function* (signal) {
    const input = fromJson(method.input, serverId === undefined ? {} : { server_id: serverId });
    const transport = createGrpcTransport({ baseUrl: url });
    const headers = { authorization: `Bearer ${token}` };
    const answer = await transport.stream(method, signal, undefined, headers, only(input));
    for await (const event of answer.message)
      yield toJson(method.output, event, { alwaysEmitImplicit: true }) as JsonObject;
  });
}

async function* only<Item>(item: Item): AsyncGenerator<Item> {
  await Promise.resolve();
  yield item;
}

/** Whether an event shows a connection with this verification state. */
export function shows(status: string): (event: JsonObject) => boolean {
  return ({ connections }) => JSON.stringify(connections).includes(`"api_key_verification_status":"${status}"`);
}
