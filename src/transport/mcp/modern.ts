import { LIST_TTL_MS } from "../../integrations/tool.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json.ts";
import type { Principal } from "../../identity/principal.ts";
import type { NotificationFilter } from "../../runtime/upstream/upstream-features.ts";
import { modernIdentity } from "./request-input.ts";
import { type Envelope, MODERN_VERSION, readEnvelope } from "./envelope.ts";
import { notificationText, resultText, type RpcNotification, type RpcRequest } from "./message.ts";
import { createModernCalls } from "./modern-call.ts";
import { invalidParams, methodNotFound } from "./methods.ts";
import { Reply } from "./reply.ts";
import { createModernResult, toResult } from "./result.ts";
import { CODES, RpcFault } from "./rpc-fault.ts";
import type { Admitted, Serving } from "./serving.ts";
import { acceptTasks } from "./task-subscriptions.ts";

const SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId";
const MAX_URIS = 1_000;

/** Handles 2026-07-28, which has no sessions. */
export interface ModernHandler {
  /** Handles one message. Rejects only before it is processed. */
  post(admitted: Admitted, message: RpcRequest | RpcNotification): Promise<void>;
}

export function createModernHandler(serving: Serving): ModernHandler {
  const { methods, features } = serving;
  const { name, version } = serving.serverInfo;
  const printOwn = createModernResult({ name, version });
  /** Result printers for the addresses of single connections, by the server info of the upstream. */
  const printers = new WeakMap<JsonObject, ReturnType<typeof createModernResult>>();

  function printerFor(principal: Principal): ReturnType<typeof createModernResult> {
    const info = features.knownServerInfo(principal);
    if (info === undefined) return printOwn;
    const print = printers.get(info) ?? createModernResult(info);
    printers.set(info, print);
    return print;
  }
  const answer = createModernCalls(serving, printerFor);

  async function discover({ principal }: Admitted): Promise<string> {
    const introduction = await features.introduce(principal);
    const capabilities = { tools: { listChanged: true }, ...introduction.capabilities };
    const { instructions } = introduction;
    const result = {
      supportedVersions: [MODERN_VERSION],
      capabilities,
      ...(instructions !== undefined && { instructions }),
    };
    return printerFor(principal)(toResult(result, LIST_TTL_MS));
  }

  async function listen(admitted: Admitted, envelope: Envelope, { id, params }: RpcRequest): Promise<void> {
    const { exchange, bearer, principal, accepted } = admitted;
    if (!accepted.events) throw new RpcFault(CODES.server, "Accept must be text/event-stream.", { httpStatus: 406 });
    if (!isJsonObject(params.notifications))
      throw invalidParams("notifications must be an object with the wanted notifications.");
    const { taskIds } = params.notifications;
    const subscribed = await acceptTasks(serving.tasks, principal, envelope, taskIds);
    const { accepted: lists, filter, wantsTools } = await acceptFilter(admitted, envelope, params.notifications);
    const acceptedFilter = { ...lists, ...subscribed.accepted };
    const mark = { [SUBSCRIPTION_KEY]: toJson(id) };
    const acknowledged = notificationText("notifications/subscriptions/acknowledged", {
      notifications: acceptedFilter,
      _meta: mark,
    });
    const closing = resultText(id, printerFor(principal)(toResult({ _meta: mark })));
    if (Object.keys(acceptedFilter).length === 0) {
      const reply = new Reply(exchange, accepted);
      await reply.notify(acknowledged);
      reply.finish(closing);
      return;
    }
    await serving.streams.open({
      exchange,
      bearer: () => bearer,
      principal,
      session: undefined,
      wantsTools,
      filter: () => filter,
      follow: subscribed.follow,
      lastEventId: undefined,
      opening: () => `event: message\ndata: ${acknowledged}\n\n`,
      mark,
      closing,
      isNewest: () => true,
      onClosed: () => {},
    });
  }

  /** Accepts the part of a filter that visible upstreams support. */
  async function acceptFilter(
    { principal }: Admitted,
    { capabilities }: Envelope,
    filter: JsonObject,
  ): Promise<{ accepted: JsonObject; filter: NotificationFilter; wantsTools: boolean }> {
    const { prompts, resources } = await features.capabilities(principal);
    const wantsTools = filter.toolsListChanged === true;
    const promptsListChanged = filter.promptsListChanged === true && prompts?.listChanged === true;
    const resourcesListChanged = filter.resourcesListChanged === true && resources?.listChanged === true;
    const wanted = Array.isArray(filter.resourceSubscriptions) && resources?.subscribe === true;
    const uris = wanted ? readUris(filter.resourceSubscriptions) : [];
    const client = modernIdentity(principal, capabilities);
    const known = await Promise.all(
      uris.map((uri) =>
        features.checkSubscription(principal, uri).then(
          () => [uri],
          () => [],
        ),
      ),
    );
    const resourceUris = known.flat();
    return {
      wantsTools,
      filter: { promptsListChanged, resourcesListChanged, resourceUris: new Set(resourceUris), client },
      accepted: {
        ...(wantsTools && { toolsListChanged: true }),
        ...(promptsListChanged && { promptsListChanged }),
        ...(resourcesListChanged && { resourcesListChanged }),
        ...(resourceUris.length > 0 && { resourceSubscriptions: resourceUris }),
      },
    };
  }

  return {
    async post(admitted, message) {
      const { exchange, accepted } = admitted;
      if (message.kind === "notification") {
        exchange.respond(202, {}, "");
        return;
      }
      const envelope = readEnvelope(exchange, message);
      const call = methods.get(message.method);
      const reply = new Reply(exchange, accepted);
      if (call !== undefined) return answer({ admitted, request: message, envelope, method: call, reply });
      if (message.method === "server/discover") {
        reply.finish(resultText(message.id, await discover(admitted)));
        return;
      }
      if (message.method === "subscriptions/listen") return listen(admitted, envelope, message);
      throw methodNotFound(message.method);
    },
  };
}

function readUris(value: JsonValue | undefined): string[] {
  const uris = Array.isArray(value) ? value.filter((uri) => typeof uri === "string") : [];
  if (uris.length > MAX_URIS) throw invalidParams(`At most ${MAX_URIS} resources can be subscribed to.`);
  return [...new Set(uris)];
}

function toJson(id: string): JsonValue {
  return id.startsWith('"') ? String(JSON.parse(id)) : JSON.rawJSON(id);
}
