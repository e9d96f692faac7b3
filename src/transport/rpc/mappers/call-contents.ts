import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  type CallContents as WireCallContents,
  CallContentsSchema,
  KeptResultSchema,
} from "../../../../gen/proto/patchbay/v1/call_contents_pb.ts";
import type { StoredCallContents } from "../../../runtime/calls/call-contents.ts";
import { toWireCall } from "./call.ts";

export function toWireCallContents({ call, contents, keptUntil }: StoredCallContents): WireCallContents {
  const { args, areArgsCut, result, isResultCut } = contents;
  return create(CallContentsSchema, {
    call: toWireCall(call),
    arguments: args,
    argumentsCut: areArgsCut,
    ...(result === undefined
      ? {}
      : {
          result: create(KeptResultSchema, {
            content: [...result.content],
            isError: result.isError,
            ...(result.structuredContent === undefined ? {} : { structuredContent: result.structuredContent }),
          }),
        }),
    resultCut: isResultCut,
    keptUntil: timestampFromDate(keptUntil),
  });
}
