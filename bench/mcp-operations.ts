import { type Contestant, http1, type Operation } from "./contestant.ts";
import type { McpArena, McpTenant } from "./mcp-arena.ts";
import { type McpRequests, sessionRequests, statelessRequests } from "./mcp-requests.ts";
import type { BenchOptions } from "./options.ts";
import type { Subject } from "./processes.ts";

const REVISIONS = ["session", "stateless"] as const;
type Revision = (typeof REVISIONS)[number];

const METHODS = ["call", "list"] as const;

/** The text that every response must contain. */
const EXPECTED = { call: "Echo: hello", list: "tool_19" };

/** A local call is compared with the SDK's server and the echo; a relayed call includes the echo's own work. */
const GOALS = { sdk: 5, echo: 0.35 };
const P99_GOAL_MS = 15;

/** The path where the SDK creates a server per request. */
const SDK_ENTRY = { path: "/per-request", token: undefined };

/** Numbers of connections, and their suffix in names. */
const WIDTHS = [
  { suffix: "", connections: undefined },
  { suffix: "-1", connections: 1 },
] as const;

/**
 * The bare JSON-RPC server, which is also the upstream, and the SDK's server: its HTTP entry in both protocol
 * revisions, and its sessions.
 */
export function listMcpFloors({ sdk }: McpArena, upstream: Subject, options: BenchOptions): readonly Contestant[] {
  const echo = sessionRequests({ path: "/mcp", token: undefined }, "none");
  return [
    ...widths("echo", upstream, echo, options),
    ...widths("sdk-entry-session", sdk.subject, sessionRequests(SDK_ENTRY, "none"), options),
    ...widths("sdk-entry-stateless", sdk.subject, statelessRequests(SDK_ENTRY), options),
    ...widths("sdk-sessions", sdk.subject, sessionRequests({ path: "/mcp", token: undefined }, sdk.sessionId), options),
  ];
}

/** Lists and calls in both protocol revisions, over a local and a relayed connection. */
export function listMcpOperations({ service, local, relay }: McpArena, options: BenchOptions): readonly Operation[] {
  return REVISIONS.flatMap((revision) => [
    ...operations(`mcp-local-${revision}`, revision, service, local, options),
    ...operations(`mcp-relay-${revision}`, revision, service, relay, options),
  ]);
}

/** Calls through the service to the upstream, by protocol revision. */
export function relayedCalls({ service, relay }: McpArena, options: BenchOptions): readonly Contestant[] {
  return REVISIONS.map((revision) =>
    http1(`MCP ${revision} call`, service, [requestsOf(revision, relay).call], EXPECTED.call, options),
  );
}

function operations(
  name: string,
  revision: Revision,
  service: Subject,
  tenant: McpTenant,
  options: BenchOptions,
): readonly Operation[] {
  const isLocalCall = (each: string): boolean => each.startsWith("mcp-local") && each.includes("-call");
  return widths(name, service, requestsOf(revision, tenant), options).map((contestant) => {
    const what = contestant.name.slice(name.length);
    const hasGoal = isLocalCall(contestant.name) && !what.endsWith("-1");
    return {
      ...contestant,
      ...(!what.endsWith("-1") && { p99GoalMs: P99_GOAL_MS }),
      against: [
        { floor: `sdk-entry-${revision}${what}`, ...(hasGoal && { goal: GOALS.sdk }) },
        ...(revision === "session" ? [{ floor: `sdk-sessions${what}`, ...(hasGoal && { goal: GOALS.sdk }) }] : []),
        { floor: `echo${what}`, ...(hasGoal && { goal: GOALS.echo }) },
      ],
    };
  });
}

function widths(name: string, subject: Subject, requests: McpRequests, options: BenchOptions): readonly Contestant[] {
  return METHODS.flatMap((method) =>
    WIDTHS.map(({ suffix, connections = options.connections }) =>
      http1(`${name}-${method}${suffix}`, subject, [requests[method]], EXPECTED[method], {
        connections,
        seconds: options.seconds,
      }),
    ),
  );
}

function requestsOf(revision: Revision, { token, sessionId }: McpTenant): McpRequests {
  const recipient = { path: "/mcp", token };
  return revision === "session" ? sessionRequests(recipient, sessionId) : statelessRequests(recipient);
}
