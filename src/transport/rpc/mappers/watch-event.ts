import { create } from "@bufbuild/protobuf";
import {
  type WatchConnectionsResponse,
  WatchConnectionsResponseSchema,
} from "../../../../gen/proto/patchbay/v1/connection_service_pb.ts";
import type { WatchEvent } from "../../../connections/watch/watch.ts";
import { toWireListed } from "./connection.ts";

export function toWireWatchEvent(event: WatchEvent): WatchConnectionsResponse {
  switch (event.event) {
    case "snapshot":
      return create(WatchConnectionsResponseSchema, {
        event: event.event,
        connections: event.connections.map(toWireListed),
      });
    case "updated":
      return create(WatchConnectionsResponseSchema, {
        event: event.event,
        connections: [toWireListed(event.connection)],
      });
    case "deleted":
      return create(WatchConnectionsResponseSchema, { event: event.event, serverId: String(event.connectionId) });
    case "heartbeat":
      return create(WatchConnectionsResponseSchema, { event: event.event });
  }
}
