import { createRootRoute, createRoute, createRouter, lazyRouteComponent, redirect } from "@tanstack/react-router";
import { Shell } from "./shell/shell.tsx";
import { NotFound } from "./shell/not-found.tsx";
import { PageError } from "./shell/page-error.tsx";
import { PageSkeleton } from "./parts/skeletons.tsx";

/** A search parameter that is a text or a number; other values count as absent. */
function textIn<Name extends string>(
  search: Record<string, unknown>,
  name: Name,
): { readonly [each in Name]?: string } {
  const value = search[name];
  if (typeof value !== "string" && typeof value !== "number") return {};
  const found: { [each in Name]?: string } = {};
  found[name] = String(value);
  return found;
}

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound, errorComponent: PageError });

const home = createRoute({
  getParentRoute: () => root,
  path: "/",
  beforeLoad: () => {
    // eslint-disable-next-line @typescript-eslint/only-throw-error -- the router's way to lead elsewhere.
    throw redirect({ to: "/connections" });
  },
});

const connections = createRoute({
  getParentRoute: () => root,
  path: "/connections",
  component: lazyRouteComponent(() => import("./pages/connections/connections-page.tsx"), "ConnectionsPage"),
});

const connect = createRoute({
  getParentRoute: () => root,
  path: "/connections/new",
  validateSearch: (search): { readonly type?: string; readonly created?: string } => ({
    ...textIn(search, "type"),
    ...textIn(search, "created"),
  }),
  component: lazyRouteComponent(() => import("./pages/connect/connect-page.tsx"), "ConnectPage"),
});

const connection = createRoute({
  getParentRoute: () => root,
  path: "/connections/$id",
  validateSearch: (search): { readonly tab?: string } => textIn(search, "tab"),
  component: lazyRouteComponent(() => import("./pages/connection/connection-page.tsx"), "ConnectionDetailsPage"),
});

const agents = createRoute({
  getParentRoute: () => root,
  path: "/agents",
  validateSearch: (search): { readonly connection?: string; readonly client?: string } => ({
    ...textIn(search, "connection"),
    ...textIn(search, "client"),
  }),
  component: lazyRouteComponent(() => import("./pages/agents/agents-page.tsx"), "AgentsPage"),
});

const activity = createRoute({
  getParentRoute: () => root,
  path: "/activity",
  validateSearch: (
    search,
  ): { readonly days?: string; readonly connection?: string; readonly tool?: string; readonly outcome?: string } => ({
    ...textIn(search, "days"),
    ...textIn(search, "connection"),
    ...textIn(search, "tool"),
    ...textIn(search, "outcome"),
  }),
  component: lazyRouteComponent(() => import("./pages/activity/activity-page.tsx"), "ActivityPage"),
});

const tokens = createRoute({
  getParentRoute: () => root,
  path: "/tokens",
  validateSearch: (search): { readonly tab?: string } => textIn(search, "tab"),
  component: lazyRouteComponent(() => import("./pages/tokens/tokens-page.tsx"), "TokensPage"),
});

const settings = createRoute({
  getParentRoute: () => root,
  path: "/settings",
  component: lazyRouteComponent(() => import("./pages/settings/settings-page.tsx"), "SettingsPage"),
});

const admin = createRoute({
  getParentRoute: () => root,
  path: "/admin",
  validateSearch: (search): { readonly tab?: string } => textIn(search, "tab"),
  component: lazyRouteComponent(() => import("./pages/admin/admin-page.tsx"), "AdminPage"),
});

const routeTree = root.addChildren([home, connections, connect, connection, agents, tokens, activity, settings, admin]);

/** The console's paths and pages, each loaded on first use. */
export function createConsoleRouter() {
  return createRouter({
    routeTree,
    defaultPreload: "intent",
    defaultPendingComponent: PageSkeleton,
    scrollRestoration: true,
  });
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof createConsoleRouter>;
  }
}
