import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  ListConnectionsRequestSchema,
  ListConnectionsResponseSchema,
} from "../gen/proto/patchbay/v1/connection_service_pb.ts";
import { openGrpc } from "./load/grpc-connection.ts";
import type { Subject } from "./processes.ts";
import type { Tenant } from "./tenant.ts";

/** The paths that list connections over Connect and gRPC. */
export const LIST_PATH = "/patchbay.v1.ConnectionService/ListConnections";

/** A list over gRPC. The message and the expected response are in base64. */
export interface GrpcList {
  readonly url: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly message: string;
  readonly expected: string;
}

/** Lists a tenant's connections over gRPC once and checks that the response is complete. */
export async function fetchGrpcList(service: Subject, { token, connectionIds }: Tenant): Promise<GrpcList> {
  const message = Buffer.from(toBinary(ListConnectionsRequestSchema, create(ListConnectionsRequestSchema)));
  const target = { url: service.url, path: LIST_PATH, headers: { authorization: `Bearer ${token}` } };
  const { promise, resolve } = Promise.withResolvers<Buffer | undefined>();
  const connection = openGrpc({ ...target, message, onAnswer: resolve });
  connection.call();
  const answer = (await promise)?.subarray(5);
  connection.close();
  const listed = answer === undefined ? [] : fromBinary(ListConnectionsResponseSchema, answer).data;
  if (answer === undefined || listed.length !== connectionIds.length) {
    throw new Error(`gRPC lists ${listed.length} connections instead of ${connectionIds.length}`);
  }
  return { ...target, message: message.toString("base64"), expected: answer.toString("base64") };
}
