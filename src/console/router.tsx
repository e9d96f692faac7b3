import { createRootRoute, createRoute, createRouter, lazyRouteComponent, redirect } from "@tanstack/react-router";
import { Shell } from "./shell/shell.tsx";
import { NotFound } from "./shell/not-found.tsx";
import { PageError } from "./shell/page-error.tsx";
import { PageSkeleton } from "./parts/skeletons.tsx";

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
  component: lazyRouteComponent(() => import("./pages/connect/connect-page.tsx"), "ConnectPage"),
});

const routeTree = root.addChildren([home, connections, connect]);

/** The console's addresses and the page behind each, loaded when it is first shown. */
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
