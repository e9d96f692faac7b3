import type { Logger } from "pino";
import type { ChangeFeed } from "../connections/change-feed.ts";
import type { ConnectionTools } from "../connections/connection-tools.ts";
import type { ConnectionView } from "../connections/connection-view.ts";
import type { Catalog } from "../integrations/integration.ts";
import { createAttendedTasks } from "../runtime/tasks/attended-tasks.ts";
import { createUpstreamTasks } from "../runtime/tasks/upstream-tasks.ts";
import { createTasks, type Tasks } from "../runtime/tasks/tasks.ts";
import { createToolViews, type ToolViews } from "../runtime/tools/tools-in-view.ts";
import type { UpstreamFeatures } from "../runtime/upstream/upstream-features.ts";
import { createUpstreamFeatures } from "../runtime/upstream/upstream-features-in-view.ts";
import { createUpstreamRequester } from "../runtime/upstream/upstream-requests.ts";
import type { Listener } from "../storage/listener.ts";
import { createTaskStore } from "../storage/stores/sessions/mcp-task.ts";
import { createListingFeed } from "../storage/stores/sessions/offer-change.ts";
import type { Foundation } from "./foundation.ts";
import { composeRelay, type RelayParts } from "./relay.ts";
import type { UpstreamCalls } from "./upstream-calls.ts";

/** What agents see of the connections of an account. */
export interface AgentView {
  readonly views: ToolViews;
  readonly features: UpstreamFeatures;
  readonly tasks: Tasks;
  readonly relay: RelayParts;
  /** Waits until the last states of tasks are stored. */
  readonly close: () => Promise<void>;
}

export async function composeAgentView(
  foundation: Foundation,
  listener: Listener,
  parts: UpstreamCalls & {
    readonly connections: ConnectionView;
    readonly catalog: Catalog;
    readonly tools: ConnectionTools;
    readonly feed: ChangeFeed;
    readonly log: Logger;
  },
): Promise<AgentView> {
  const { orm } = foundation.database;
  const views = createToolViews(parts);
  const features = createUpstreamFeatures({ ...parts, listingFeed: await createListingFeed(orm, listener) });
  const store = createTaskStore(orm, foundation.sealer);
  const relay = await composeRelay(foundation, listener, parts.log);
  const attended = createAttendedTasks({ ...parts, store, relays: relay.relays });
  const upstreamTasks = createUpstreamTasks(store, createUpstreamRequester(parts));
  const tasks = createTasks({ ...parts, store, views, upstreamTasks, attended, links: features });
  return { relay, views, features, tasks, close: () => attended.close() };
}
