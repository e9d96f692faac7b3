/* eslint-disable @typescript-eslint/no-deprecated -- the low-level server takes JSON Schema as it is. */
import { setTimeout as sleep } from "node:timers/promises";
import { createMcpHandler, inputRequired, Server } from "@modelcontextprotocol/server";
import type { JsonObject } from "../../src/json.ts";
import { bodyOf, listen, type Listening } from "./listen.ts";
import { aborted, COLOR_FORM, COUNT_PAUSE_MS, COUNTED, describeChoice, MATRIX_TOOLS } from "./matrix-tools.ts";

/** Starts a server that speaks only 2026-07-28 and has no state, built with the SDK v2. */
export async function startSdkV2Upstream(): Promise<Listening> {
  const handler = createMcpHandler(createTools, { legacy: "reject" });
  const server = await listen(async (incoming, outgoing) => {
    const body = await bodyOf(incoming);
    const gone = new AbortController();
    outgoing.on("close", () => gone.abort());
    const request = new Request(`http://${incoming.headers.host}${incoming.url}`, {
      method: incoming.method ?? "GET",
      headers: Object.entries(incoming.headers).map(([name, value]): [string, string] => [name, String(value)]),
      signal: gone.signal,
      ...(body.length > 0 && { body }),
    });
    const response = await handler.fetch(request);
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    outgoing.flushHeaders();
    for await (const chunk of response.body ?? []) outgoing.write(chunk);
    outgoing.end();
  });
  return {
    ...server,
    close: async () => {
      await handler.close();
      await server.close();
    },
  };
}

function createTools(): Server {
  const server = new Server({ name: "matrix-v2", version: "1.0.0" }, { capabilities: { tools: {} } });
  server.setRequestHandler("tools/list", () => ({ tools: MATRIX_TOOLS }));
  server.setRequestHandler("tools/call", async ({ params }, { mcpReq }) => {
    const text = (words: string) => ({ content: [{ type: "text" as const, text: words }] });
    switch (params.name) {
      case "count": {
        const progressToken = mcpReq._meta?.progressToken;
        for (const step of progressToken === undefined ? [] : COUNTED) {
          await mcpReq.notify({
            method: "notifications/progress",
            params: { ...step, progressToken: progressToken ?? "" },
          });
          await sleep(COUNT_PAUSE_MS);
        }
        return text("Counted to 3.");
      }
      case "wait":
        await aborted(mcpReq.signal);
        return text("Canceled.");
      case "ask": {
        const answer = mcpReq.inputResponses?.["color"];
        if (answer !== undefined) return text(describeChoice(answer as JsonObject));
        return inputRequired({
          inputRequests: { color: { method: "elicitation/create", params: COLOR_FORM } },
        }) as never;
      }
      default:
        return text(`Echo: ${String(params.arguments?.["text"])}`);
    }
  });
  return server;
}
