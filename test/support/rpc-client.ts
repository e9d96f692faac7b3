import { fromJson, toJson, type DescMethod } from "@bufbuild/protobuf";
import { Code, ConnectError, type Transport } from "@connectrpc/connect";
import { BadRequestSchema, ErrorInfoSchema } from "../../gen/proto/google/rpc/error_details_pb.ts";
import type { JsonObject, JsonValue } from "../../src/json.ts";
import type { Outcome } from "./outcome.ts";

/** Calls an operation through a Connect transport. For a stream it returns the first message. */
export async function callRpc(
  transport: Transport,
  method: DescMethod,
  input: JsonObject,
  headers: Headers,
  timeoutMs = 20_000,
): Promise<Outcome> {
  const message = fromJson(method.input, input);
  try {
    if (method.methodKind === "unary") {
      const answer = await transport.unary({ ...method, methodKind: "unary" }, undefined, timeoutMs, headers, message);
      return {
        status: "ok",
        body: print(method, answer.message),
        message: "",
        reason: "",
        field: "",
        headers: answer.header,
      };
    }
    if (method.methodKind !== "server_streaming")
      throw new Error(`${method.name} is neither unary nor server-streaming`);
    const controller = new AbortController();
    const answer = await transport.stream(
      { ...method, methodKind: "server_streaming" },
      controller.signal,
      undefined,
      headers,
      only(message),
    );
    for await (const event of answer.message) {
      controller.abort();
      return { status: "ok", body: print(method, event), message: "", reason: "", field: "", headers: answer.header };
    }
    throw new Error("the stream ended before its first message");
  } catch (error) {
    if (!(error instanceof ConnectError)) throw error;
    return {
      status: codeName(error.code),
      body: null,
      message: error.rawMessage,
      reason: reasonOf(error),
      field: fieldOf(error),
      headers: error.metadata,
    };
  }
}

/** The reason in an error's google.rpc.ErrorInfo; empty without one. */
export function reasonOf(error: ConnectError): string {
  const [found] = error.findDetails(ErrorInfoSchema);
  return found?.domain === "patchbay.dev" ? found.reason : "";
}

/** The field in an error's google.rpc.BadRequest; empty without one. */
function fieldOf(error: ConnectError): string {
  const [found] = error.findDetails(BadRequestSchema);
  return found?.fieldViolations[0]?.field ?? "";
}

/** The Connect name of a code, such as `not_found`. */
export function codeName(code: Code): string {
  return Code[code].replaceAll(/(?<=[a-z])(?=[A-Z])/g, "_").toLowerCase();
}

function print(method: DescMethod, message: Parameters<typeof toJson>[1]): JsonValue {
  return toJson(method.output, message, { alwaysEmitImplicit: true }) as JsonValue;
}

async function* only<Item>(item: Item): AsyncGenerator<Item> {
  await Promise.resolve();
  yield item;
}
