import { create } from "@bufbuild/protobuf";
import { NullValue } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  AuthorizeConnectionResponseSchema,
  type ConnectionService,
  DeleteConnectionResponseSchema,
  GetConnectionResponseSchema,
  ListConnectionsResponseSchema,
  ListConnectionToolsResponseSchema,
  UpdateConnectionResponseSchema,
} from "../../../../gen/proto/patchbay/v1/connection_service_pb.ts";
import type { AuthorizeConnection } from "../../../connections/authorization/authorize-connection.ts";
import type { Connections } from "../../../connections/connections.ts";
import type { ToolChangeReview } from "../../../connections/definitions/tool-change-review.ts";
import type { Watch } from "../../../connections/watch/watch.ts";
import type { Catalog } from "../../../integrations/integration.ts";
import type { CallerOf } from "../caller.ts";
import { fromUpdateRequest } from "../mappers/connection-change.ts";
import { toWireAddress, toWireConnection, toWireCreated, toWireDetails, toWireListed } from "../mappers/connection.ts";
import { toWireToolPage } from "../mappers/tool.ts";
import { idempotencyKeyOf } from "../idempotency-key.ts";
import { wantsDetails } from "../mappers/view.ts";
import { toWireWatchEvent } from "../mappers/watch-event.ts";
import { principalOf } from "../principal.ts";
import { expectedVersions, setVersion } from "../version.ts";
import { createToolChangeHandlers } from "./tool-changes.ts";

export interface ConnectionHandlerDeps {
  readonly connections: Connections;
  readonly watch: Watch;
  readonly authorize: AuthorizeConnection;
  readonly toolChanges: ToolChangeReview;
  readonly catalog: Catalog;
  readonly callerOf: CallerOf;
}

/** Handlers of ConnectionService. */
export function createConnectionHandlers(deps: ConnectionHandlerDeps): ServiceImpl<typeof ConnectionService> {
  const { connections, catalog, callerOf } = deps;
  return {
    async createConnection(request, context) {
      const { serverType, name, description, accessType, acceptToolChanges, authMethod, configuration = {} } = request;
      const draft = { serverType, name, description, accessType, acceptToolChanges, authMethod, configuration };
      const created = await connections.create(callerOf(context), draft, idempotencyKeyOf(context));
      context.responseHeader.set("Location", `/api/v1/mcp-servers/${created.id}`);
      if (created.isRepeated) context.responseHeader.set("Idempotency-Replayed", "true");
      return toWireCreated(created);
    },

    async authorizeConnection({ serverId }, context) {
      const address = await deps.authorize(callerOf(context), serverId);
      return create(AuthorizeConnectionResponseSchema, { success: true, data: toWireAddress(address) });
    },

    async listConnections(request, context) {
      const { limit, offset } = request;
      const toWire = wantsDetails(request) ? toWireListed : toWireConnection;
      const listed = await connections.list(principalOf(context), { limit, offset });
      return create(ListConnectionsResponseSchema, {
        success: true,
        data: listed.connections.map(toWire),
        ...(listed.page ?? {}),
      });
    },

    async getConnection(request, context) {
      const detailed = wantsDetails(request);
      const connection = await connections.get(principalOf(context), request.serverId);
      setVersion(context, connection.updatedAt);
      return detailed
        ? create(GetConnectionResponseSchema, {
            message: "MCP server retrieved",
            connection: toWireDetails(connection, catalog),
          })
        : create(GetConnectionResponseSchema, { success: true, data: toWireConnection(connection) });
    },

    async updateConnection(request, context) {
      const detailed = wantsDetails(request);
      const change = fromUpdateRequest(request);
      const connection = await connections.update(
        callerOf(context),
        request.serverId,
        change,
        expectedVersions(context),
      );
      return detailed
        ? create(UpdateConnectionResponseSchema, {
            message: "MCP server updated",
            connection: toWireDetails(connection, catalog),
          })
        : create(UpdateConnectionResponseSchema, { success: true, data: toWireConnection(connection) });
    },

    async deleteConnection(request, context) {
      const detailed = wantsDetails(request);
      await connections.delete(callerOf(context), request.serverId, expectedVersions(context));
      return detailed
        ? create(DeleteConnectionResponseSchema, { message: "MCP server deleted" })
        : create(DeleteConnectionResponseSchema, {
            success: true,
            data: NullValue.NULL_VALUE,
            message: "MCP server deleted",
          });
    },

    async listConnectionTools({ serverId, limit, offset, includeDisabled }, context) {
      const listed = await connections.listTools(principalOf(context), serverId, { limit, offset, includeDisabled });
      return create(ListConnectionToolsResponseSchema, {
        success: true,
        data: toWireToolPage(listed, listed.connectionId),
      });
    },

    ...createToolChangeHandlers(deps.toolChanges, callerOf),

    async *watchConnections({ serverId }, context) {
      for await (const event of deps.watch(principalOf(context), serverId, context.signal))
        yield toWireWatchEvent(event);
    },
  };
}
