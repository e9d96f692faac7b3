import type { Message } from "@bufbuild/protobuf";
import type { CallContext } from "../call-context.ts";
import { callStream } from "../calls.ts";
import type { Fault } from "../../http/fault.ts";
import type { HttpExchange, Outlet } from "../../http/exchange.ts";
import { errorBody, EVENT_STREAM_HEADERS } from "../../http/answer.ts";
import type { MessageWriter } from "./write-message.ts";
import type { Binding } from "./binding.ts";

/**
 * Answers a server-streaming RPC as server-sent events: the message's field `event` names the event, the message is its
 * data. Rejects while nothing was sent yet; afterwards a failure is an `error` event with `{detail, code}`.
 */
export async function answerEvents(
  binding: Binding,
  exchange: HttpExchange,
  message: Message,
  context: CallContext,
  write: MessageWriter,
  toFault: (thrown: unknown) => Fault,
): Promise<void> {
  const events = callStream(binding.rpc, message, context);
  let outlet: Outlet | undefined;
  try {
    for (let next = await events.next(); next.done !== true; next = await events.next()) {
      outlet ??= exchange.open(200, EVENT_STREAM_HEADERS);
      const json = write(next.value);
      const name = typeof json["event"] === "string" && json["event"] !== "" ? `event: ${json["event"]}\n` : "";
      if (!(await outlet.write(`${name}data: ${JSON.stringify(json)}\n\n`))) return;
    }
    outlet ??= exchange.open(200, EVENT_STREAM_HEADERS);
  } catch (thrown) {
    if (outlet === undefined) throw thrown;
    const { reason, message: sentence } = toFault(thrown);
    await outlet.write(`event: error\ndata: ${errorBody(reason, sentence)}\n\n`);
  } finally {
    context.end();
    // Not awaited: a handler that waits for an event is woken by the signal, and may take its time.
    events.return(undefined).catch(() => undefined);
    outlet?.end();
  }
}
