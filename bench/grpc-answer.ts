import { fromBinary } from "@bufbuild/protobuf";
import { ListConnectionsResponseSchema } from "../gen/proto/patchbay/v1/connection_service_pb.ts";
import { openGrpc } from "./load/grpc-connection.ts";

/** Lists over gRPC once, makes sure that the answer is the five connections, and returns its bytes. */
export async function fetchGrpcAnswer(call: {
  readonly url: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly message: Uint8Array;
}): Promise<Buffer> {
  const { promise, resolve } = Promise.withResolvers<Buffer | undefined>();
  const connection = openGrpc({ ...call, onAnswer: resolve });
  connection.call();
  const answer = (await promise)?.subarray(5);
  connection.close();
  const listed = answer === undefined ? [] : fromBinary(ListConnectionsResponseSchema, answer).data;
  if (answer === undefined || listed.length !== 5) throw new Error(`gRPC lists ${listed.length} connections, not 5`);
  return answer;
}
