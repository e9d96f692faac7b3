import "@mantine/core/styles.css";
import "@mantine/notifications/styles.css";
import "./style.css";
import { MantineProvider } from "@mantine/core";
import { Notifications } from "@mantine/notifications";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { ApiError } from "./api/api-error.ts";
import { createApiClient } from "./api/client.ts";
import { ApiContext } from "./api/context.ts";
import { createBrowserSession } from "./api/session.ts";
import { readNonce } from "./nonce.ts";
import { createConsoleRouter } from "./router.tsx";
import { theme } from "./theme.ts";

const session = createBrowserSession();
const api = { session, client: createApiClient(session) };
const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      // Invalid requests are not retried; network and service failures are.
      retry: (failures, error) => failures < 2 && !(error instanceof ApiError && error.status < 500),
    },
  },
});
const router = createConsoleRouter();
const nonce = readNonce();

const root = document.getElementById("root");
if (root === null) throw new Error("The page has no element for the console.");
createRoot(root).render(
  <StrictMode>
    <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={() => nonce}>
      <Notifications position="bottom-right" />
      <QueryClientProvider client={queries}>
        <ApiContext value={api}>
          <RouterProvider router={router} />
        </ApiContext>
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
