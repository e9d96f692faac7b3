import type { Message } from "@bufbuild/protobuf";
import type { CallContext } from "../call-context.ts";
import { callStream } from "../calls.ts";
import type { Fault } from "../../http/fault.ts";
import type { HttpExchange, Outlet } from "../../http/exchange.ts";
import { EVENT_STREAM_HEADERS, faultBody } from "../../http/answer.ts";
import type { MessageWriter } from "./write-message.ts";
import type { Binding } from "./binding.ts";

/**
 * Sends a server-streaming RPC as server-sent events: the message's field `event` is the event name, the message its
 * data. Rejects before the first event; later failures are sent as an `error` event with `{detail, code}`.
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
    await outlet.write(`event: error\ndata: ${faultBody(toFault(thrown))}\n\n`);
  } finally {
    context.end();
    // Not awaited, because the handler may need time: it waits for an event until the signal wakes it.
    events.return(undefined).catch(() => undefined);
    outlet?.end();
  }
}
