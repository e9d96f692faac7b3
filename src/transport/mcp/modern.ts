import { isJsonObject, type JsonObject, type JsonValue } from "../../json.ts";
import type { NotificationFilter } from "../../runtime/upstream/upstream-features.ts";
import { type Envelope, MODERN_VERSION, readEnvelope } from "./envelope.ts";
import { errorText, notificationText, resultText, type RpcNotification, type RpcRequest } from "./message.ts";
import { invalidParams, methodNotFound, type RpcMethod } from "./methods.ts";
import { createParamHeaderCheck } from "./param-headers.ts";
import { createRelay, readLogLevel } from "./relay.ts";
import { Reply } from "./reply.ts";
import { createModernResult, toResult } from "./result.ts";
import { CODES, methodFault, RpcFault } from "./rpc-fault.ts";
import type { Admitted, Serving } from "./serving.ts";

const SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId";
const MAX_URIS = 1_000;

const HUNG_UP = new Error("The client hung up.");

/** Serves 2026-07-28: every request stands alone. */
export interface StatelessProtocol {
  /** Answers one message. Rejects with what is wrong before it was carried out. */
  post(admitted: Admitted, message: RpcRequest | RpcNotification): Promise<void>;
}

/** Creates the handler over what both share. */
export function createStatelessProtocol(serving: Serving): StatelessProtocol {
  const { methods, features, log } = serving;
  const { name, version } = serving.serverInfo;
  const print = createModernResult({ name, version });
  const checkParamHeaders = createParamHeaderCheck();

  async function discover({ principal }: Admitted): Promise<string> {
    const capabilities = { tools: { listChanged: true }, ...(await features.capabilities(principal)) };
    return print(toResult({ supportedVersions: [MODERN_VERSION], capabilities }, { isCacheable: true }));
  }

  async function answer(
    admitted: Admitted,
    request: RpcRequest,
    envelope: Envelope,
    call: RpcMethod,
    reply: Reply,
  ): Promise<void> {
    const { exchange, principal } = admitted;
    const { id, params } = request;
    const controller = new AbortController();
    let isAnswered = false;
    // Hanging up is how a client of this revision cancels.
    exchange.onClose(() => {
      if (!isAnswered) controller.abort(HUNG_UP);
    });
    try {
      const result = await call({
        principal,
        session: undefined,
        params,
        controller,
        relay: createRelay(params, readLogLevel(envelope.logLevel) ?? "none", reply),
        inspect: ({ tool }) => {
          const args = params.arguments;
          checkParamHeaders(exchange, tool.definition, isJsonObject(args) ? args : {});
        },
        declares: (wanted) =>
          Object.keys(wanted).every((capability) => envelope.capabilities[capability] !== undefined),
      });
      isAnswered = true;
      reply.finish(resultText(id, print(result)));
    } catch (thrown) {
      isAnswered = true;
      if (controller.signal.reason === HUNG_UP) return;
      const fault = methodFault(thrown, log);
      reply.finish(errorText(id, fault), fault.httpStatus, fault.headers);
    }
  }

  async function listen(admitted: Admitted, { id, params }: RpcRequest): Promise<void> {
    const { exchange, bearer, principal, accepted } = admitted;
    if (!accepted.events) throw new RpcFault(CODES.server, "Accept must be text/event-stream.", { httpStatus: 406 });
    if (!isJsonObject(params.notifications)) throw invalidParams("notifications must be an object: what to hear of.");
    const { honoured, interest, wantsTools } = await honour(admitted, params.notifications);
    const mark = { [SUBSCRIPTION_KEY]: toJson(id) };
    const acknowledged = notificationText("notifications/subscriptions/acknowledged", {
      notifications: honoured,
      _meta: mark,
    });
    const closing = resultText(id, print(toResult({ _meta: mark })));
    if (Object.keys(honoured).length === 0) {
      const reply = new Reply(exchange, accepted);
      await reply.notify(acknowledged);
      reply.finish(closing);
      return;
    }
    await serving.streams.open({
      exchange,
      bearer,
      principal,
      session: undefined,
      wantsTools,
      interest: () => interest,
      lastEventId: undefined,
      opening: () => `event: message\ndata: ${acknowledged}\n\n`,
      mark,
      closing,
      isSpokenTo: () => true,
      onOver: () => {},
    });
  }

  /** What of a filter is served: what the upstreams in view offer, and resources that somebody there knows. */
  async function honour(
    { principal }: Admitted,
    filter: JsonObject,
  ): Promise<{ honoured: JsonObject; interest: NotificationFilter; wantsTools: boolean }> {
    const { prompts, resources } = await features.capabilities(principal);
    const wantsTools = filter.toolsListChanged === true;
    const promptsListChanged = filter.promptsListChanged === true && prompts?.listChanged === true;
    const resourcesListChanged = filter.resourcesListChanged === true && resources?.listChanged === true;
    const wanted = Array.isArray(filter.resourceSubscriptions) && resources?.subscribe === true;
    const uris = wanted ? readUris(filter.resourceSubscriptions) : [];
    const signal = AbortSignal.timeout(30_000);
    const known = await Promise.all(
      uris.map((uri) =>
        features.checkSubscription(principal, uri, { signal }).then(
          () => [uri],
          () => [],
        ),
      ),
    );
    const resourceUris = known.flat();
    return {
      wantsTools,
      interest: { promptsListChanged, resourcesListChanged, resourceUris: new Set(resourceUris) },
      honoured: {
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
      if (call !== undefined) return answer(admitted, message, envelope, call, reply);
      if (message.method === "server/discover") {
        reply.finish(resultText(message.id, await discover(admitted)));
        return;
      }
      if (message.method === "subscriptions/listen") return listen(admitted, message);
      throw methodNotFound(message.method);
    },
  };
}

function readUris(value: JsonValue | undefined): string[] {
  const uris = Array.isArray(value) ? value.filter((uri) => typeof uri === "string") : [];
  if (uris.length > MAX_URIS) throw invalidParams(`At most ${MAX_URIS} resources can be subscribed to.`);
  return [...new Set(uris)];
}

/** An id, which is kept as JSON, as a value again. */
function toJson(id: string): JsonValue {
  return id.startsWith('"') ? String(JSON.parse(id)) : JSON.rawJSON(id);
}
