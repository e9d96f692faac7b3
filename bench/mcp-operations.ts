import { type Contestant, http1, type Operation } from "./contestant.ts";
import type { McpArena, McpTenant } from "./mcp-arena.ts";
import { type McpRequests, sessionRequests, statelessRequests } from "./mcp-requests.ts";
import type { BenchOptions } from "./options.ts";
import type { Subject } from "./processes.ts";

const ERAS = ["session", "stateless"] as const;
type Era = (typeof ERAS)[number];

const METHODS = ["call", "list"] as const;

/** What every answer must hold. */
const EXPECTED = { call: "Echo: hello", list: "tool_19" };

/** A call is compared with the SDK's server and with the echo; relaying leaves the echo's work to be done beside. */
const GOALS = { sdk: 5, echo: 0.35 };
const P99_GOAL_MS = 15;

/** Where the SDK makes a server for every request. */
const SDK_ENTRY = { path: "/per-request", token: undefined };

/** Numbers of connections, and what they add to a name. */
const WIDTHS = [
  { suffix: "", connections: undefined },
  { suffix: "-1", connections: 1 },
] as const;

/** The bare JSON-RPC server that is the upstream too, and the SDK's own: its HTTP entry in both eras, and its sessions. */
export function listMcpFloors({ sdk }: McpArena, upstream: Subject, options: BenchOptions): readonly Contestant[] {
  const echo = sessionRequests({ path: "/mcp", token: undefined }, "none");
  return [
    ...widths("echo", upstream, echo, options),
    ...widths("sdk-entry-session", sdk.subject, sessionRequests(SDK_ENTRY, "none"), options),
    ...widths("sdk-entry-stateless", sdk.subject, statelessRequests(SDK_ENTRY), options),
    ...widths("sdk-sessions", sdk.subject, sessionRequests({ path: "/mcp", token: undefined }, sdk.sessionId), options),
  ];
}

/** Listing and calling in both eras, over a connection of this process and over one to the upstream. */
export function listMcpOperations({ service, local, relay }: McpArena, options: BenchOptions): readonly Operation[] {
  return ERAS.flatMap((era) => [
    ...operations(`mcp-local-${era}`, era, service, local, options),
    ...operations(`mcp-relay-${era}`, era, service, relay, options),
  ]);
}

/** Calls through the service to the upstream, by era. */
export function relayedCalls({ service, relay }: McpArena, options: BenchOptions): readonly Contestant[] {
  return ERAS.map((era) => http1(`MCP ${era} call`, service, [requestsOf(era, relay).call], EXPECTED.call, options));
}

function operations(
  name: string,
  era: Era,
  service: Subject,
  tenant: McpTenant,
  options: BenchOptions,
): readonly Operation[] {
  const isLocalCall = (each: string): boolean => each.startsWith("mcp-local") && each.includes("-call");
  return widths(name, service, requestsOf(era, tenant), options).map((contestant) => {
    const what = contestant.name.slice(name.length);
    const hasGoal = isLocalCall(contestant.name) && !what.endsWith("-1");
    return {
      ...contestant,
      ...(!what.endsWith("-1") && { p99GoalMs: P99_GOAL_MS }),
      against: [
        { floor: `sdk-entry-${era}${what}`, ...(hasGoal && { goal: GOALS.sdk }) },
        ...(era === "session" ? [{ floor: `sdk-sessions${what}`, ...(hasGoal && { goal: GOALS.sdk }) }] : []),
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

function requestsOf(era: Era, { token, sessionId }: McpTenant): McpRequests {
  const recipient = { path: "/mcp", token };
  return era === "session" ? sessionRequests(recipient, sessionId) : statelessRequests(recipient);
}
