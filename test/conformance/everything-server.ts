/* eslint-disable @typescript-eslint/no-deprecated -- the suite asks for what 2026-07-28 did away with too. */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  createMcpHandler,
  inputRequired,
  type InputRequiredResult,
  isLegacyRequest,
  type McpHttpHandler,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  Server,
  type ServerContext,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { createKeyedRequests, type KeyedRequests } from "./keyed-requests.ts";
import {
  INPUT_PROMPT,
  INPUT_TOOL_LIST,
  INPUT_TOOLS,
  promptInput,
  type InputContext,
  type InputStep,
} from "./input-tools.ts";
import { isJsonObject, parseJson, type JsonObject } from "../../src/json.ts";
import { createModernTasks, type ModernTasks, TASKS } from "./modern-tasks.ts";
import { createSessionTasks, SESSION_TASKS_CAPABILITY, type SessionTasks } from "./session-tasks.ts";
import { TASK_TOOL_LIST } from "./task-tools.ts";
import { answerSkillRequest, readSkillFile, SKILL_RESOURCES, SKILLS } from "./skills.ts";
import { ANSWERS, getPrompt, PROMPTS, readResource, RESOURCES, TOOLS } from "./everything-content.ts";

/** The protocol revisions of an upstream: those with sessions, 2026-07-28, or all. */
export type UpstreamRevision = "legacy" | "modern" | "both";

/** An MCP server built with the SDK, with every feature that the conformance suite requires. */
export interface EverythingServer {
  /** `host:port`. */
  readonly host: string;
  readonly url: string;
  /** What it does for clients of 2026-07-28. */
  readonly modernTasks: ModernTasks;
  /** What it does for clients of 2025-11-25. */
  readonly sessionTasks: SessionTasks;
  close(): Promise<void>;
}

const text = (words: string): CallToolResult => ({ content: [{ type: "text", text: words }] });

/** The tool list that tools can change. One server process has one list. */
interface Lists {
  tools: number;
  prompts: number;
}

function createEverything(
  lists: Lists,
  changed: () => McpHttpHandler | undefined,
  asking?: () => KeyedRequests | undefined,
): Server {
  const server = new Server(
    { name: "everything-for-conformance", version: "1.0.0" },
    {
      capabilities: {
        tools: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        prompts: { listChanged: true },
        completions: {},
        logging: {},
        extensions: { ...(asking === undefined && { [TASKS]: {} }), [SKILLS]: { directoryRead: true } },
        ...(asking !== undefined && { tasks: SESSION_TASKS_CAPABILITY }),
      },
    },
  );
  const more = (count: number, describe: (name: string) => object) =>
    Array.from({ length: count }, (_, index) => describe(`added_${index + 1}`));

  server.setRequestHandler("tools/list", () => ({
    tools: [
      ...TOOLS,
      ...INPUT_TOOL_LIST,
      ...TASK_TOOL_LIST,
      ...more(lists.tools, (name) => ({ name, description: "Came later.", inputSchema: { type: "object" } })),
    ] as (typeof TOOLS)[number][],
  }));
  server.setRequestHandler("tools/call", ({ params }, context) =>
    callTool(params.name, params.arguments ?? {}, context),
  );
  server.setRequestHandler("resources/list", () => ({ resources: [...RESOURCES, ...SKILL_RESOURCES] }));
  server.setRequestHandler("resources/templates/list", () => ({
    resourceTemplates: [
      {
        uriTemplate: "test://template/{id}/data",
        name: "Template",
        description: "Data by id.",
        mimeType: "application/json",
      },
    ],
  }));
  server.setRequestHandler("resources/read", ({ params: { uri } }) => {
    const found = readResource(uri) ?? readSkillFile(uri);
    if (found === undefined) throw new ResourceNotFoundError(uri);
    return found;
  });
  server.fallbackRequestHandler = ({ method, params = {} }) => Promise.resolve(answerSkillRequest(method, params));
  server.setRequestHandler("resources/subscribe", () => ({}));
  server.setRequestHandler("resources/unsubscribe", () => ({}));
  server.setRequestHandler("prompts/list", () => ({
    prompts: [
      ...PROMPTS,
      { name: INPUT_PROMPT, description: "Asks its client for input." },
      ...more(lists.prompts, (name) => ({ name, description: "Came later." })),
    ] as (typeof PROMPTS)[number][],
  }));
  server.setRequestHandler("prompts/get", async ({ params }, context) => {
    if (params.name === INPUT_PROMPT) {
      const step = await ask(promptInput, {}, context);
      if (typeof step !== "string") return step;
      return { messages: [{ role: "user", content: { type: "text", text: step } }] };
    }
    const found = getPrompt(params.name, params.arguments);
    if (found === undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown prompt: ${params.name}`);
    return found;
  });
  server.setRequestHandler("completion/complete", ({ params }) => {
    const values = ["paris", "park", "party"].filter((value) => value.startsWith(params.argument.value));
    return { completion: { values, total: values.length, hasMore: false } };
  });

  async function callTool(
    name: string,
    args: Record<string, unknown>,
    context: ServerContext,
  ): Promise<CallToolResult> {
    const known = ANSWERS.get(name);
    if (known !== undefined) return known;
    const { mcpReq } = context;
    const input = INPUT_TOOLS.get(name);
    if (input !== undefined) {
      const step = await ask(input, args, context);
      return typeof step === "string" ? text(step) : (step as never);
    }
    switch (name) {
      case "test_tool_with_logging":
        for (const words of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
          await mcpReq.log("info", words);
          await sleep(50);
        }
        return text("Said it.");
      case "test_tool_with_progress": {
        const progressToken = mcpReq._meta?.progressToken;
        for (const progress of [0, 50, 100]) {
          if (progressToken !== undefined) {
            const params = { progressToken, progress, total: 100, message: `Completed ${progress} of 100` };
            await mcpReq.notify({ method: "notifications/progress", params });
          }
          await sleep(50);
        }
        return text("Done.");
      }
      case "test_logging_tool":
        await mcpReq.log("info", "A log message for clients that enabled logging.");
        return text("Said it.");
      case "test_missing_capability":
        if (clientCapabilities(mcpReq.envelope)["sampling"] === undefined) {
          throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { sampling: {} } });
        }
        return text("The client can sample.");
      case "test_trigger_tool_change":
        lists.tools += 1;
        changed()?.notify.toolsChanged();
        await server.sendToolListChanged().catch(() => undefined);
        return text("Changed.");
      case "test_trigger_prompt_change":
        lists.prompts += 1;
        changed()?.notify.promptsChanged();
        await server.sendPromptListChanged().catch(() => undefined);
        return text("Changed.");
      default:
        if (/^added_\d+$/.test(name)) return text("Came later.");
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${name}`);
    }
  }

  /**
   * Returns the text of the result, or in 2026-07-28 the input that is needed first. In revisions with sessions, the
   * server asks the client itself.
   */
  async function ask(
    step: (context: InputContext) => InputStep,
    args: Record<string, unknown>,
    { mcpReq }: ServerContext,
  ): Promise<string | InputRequiredResult> {
    const declares = (name: string): boolean => clientCapabilities(mcpReq.envelope)[name] !== undefined;
    if (mcpReq.envelope !== undefined) {
      const { inputResponses: responses } = mcpReq;
      const next = step({ args, responses, state: mcpReq.requestState(), declares });
      if (typeof next === "string") return next;
      const { requests: inputRequests, state } = next;
      return inputRequired({ inputRequests, ...(state !== undefined && { requestState: state }) });
    }
    const context = { args, declares: (name: string) => Object.hasOwn(server.getClientCapabilities() ?? {}, name) };
    let next = step({ ...context, responses: undefined, state: undefined });
    while (typeof next !== "string") {
      const { requests, state } = next;
      const answers = await Promise.all(
        Object.entries(requests).map(async ([key, request]) => [key, await asking?.()?.ask(mcpReq.id, key, request)]),
      );
      next = step({ ...context, responses: Object.fromEntries(answers) as Record<string, unknown>, state });
    }
    return next;
  }

  return server;
}

/** Starts the server on a free port. */
export async function startEverythingServer(
  revision: UpstreamRevision,
  modernTasks: ModernTasks = createModernTasks(),
): Promise<EverythingServer> {
  const lists: Lists = { tools: 0, prompts: 0 };
  const sessionTasks = createSessionTasks();
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();
  const handler = createMcpHandler(() => createEverything(lists, () => handler), { legacy: "reject" });

  async function serveSession(request: Request): Promise<Response> {
    const known = sessions.get(request.headers.get("mcp-session-id") ?? "");
    if (known !== undefined) {
      const body = await messageIn(request);
      return (body && (await sessionTasks.answer(body, request.signal))) ?? known.handleRequest(request);
    }
    if (request.headers.has("mcp-session-id")) return new Response(null, { status: 404 });
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => {
        sessions.set(id, transport);
      },
      onsessionclosed: (id) => {
        sessions.delete(id);
      },
    });
    const asking: { requests?: KeyedRequests } = {};
    await createEverything(
      lists,
      () => handler,
      () => asking.requests,
    ).connect(transport);
    asking.requests = createKeyedRequests(transport);
    return transport.handleRequest(request);
  }

  async function serveStateless(request: Request): Promise<Response> {
    const body = await messageIn(request);
    return (body && (await modernTasks.answer(body))) ?? handler.fetch(request);
  }

  async function answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const request = await toRequest(incoming, outgoing);
    const isLegacy = revision === "legacy" || (revision === "both" && (await isLegacyRequest(request)));
    const response = await (isLegacy ? serveSession(request) : serveStateless(request));
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    outgoing.flushHeaders();
    for await (const chunk of response.body ?? []) outgoing.write(chunk);
    outgoing.end();
  }

  const http = createServer((incoming, outgoing) => {
    answer(incoming, outgoing).catch(() => outgoing.destroy());
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  const address = http.address();
  if (typeof address !== "object" || address === null) throw new Error("the server has no port");
  const host = `127.0.0.1:${address.port}`;
  return {
    host,
    url: `http://${host}/mcp`,
    modernTasks,
    sessionTasks,
    close: async () => {
      await handler.close();
      http.close();
      http.closeAllConnections();
    },
  };
}

async function messageIn(request: Request): Promise<JsonObject | undefined> {
  const body = parseJson((await request.clone().text()) || "null", { maxDepth: 64 });
  return isJsonObject(body) ? body : undefined;
}

async function toRequest(incoming: IncomingMessage, outgoing: ServerResponse): Promise<Request> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(Buffer.from(chunk as Uint8Array));
  const gone = new AbortController();
  outgoing.once("close", () => gone.abort());
  const headers = Object.entries(incoming.headers).map(([name, value]): [string, string] => [name, String(value)]);
  return new Request(`http://${incoming.headers.host ?? "localhost"}${incoming.url ?? "/"}`, {
    method: incoming.method ?? "GET",
    headers,
    signal: gone.signal,
    ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
  });
}

function clientCapabilities(envelope: object | undefined): Record<string, unknown> {
  const declared = (envelope as Record<string, unknown> | undefined)?.[CLIENT_CAPABILITIES_META_KEY];
  return (declared as Record<string, unknown> | undefined) ?? {};
}
