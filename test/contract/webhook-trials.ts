import type { Trial } from "./access-trial.ts";

/** The access rules of WebhookService. */
export const WEBHOOK_TRIALS: Readonly<Record<string, Trial>> = {
  CreateWebhook: {
    wrongScopes: "mgmt.read mcp.read mcp.write",
    request: () => ({ input: { url: "https://hooks.invalid/", event_types: ["connection.created"] } }),
    namesSomething: false,
  },
  ListWebhooks: {
    wrongScopes: "mgmt.write mcp.read mcp.write",
    request: () => ({ input: {} }),
    namesSomething: false,
  },
  GetWebhook: {
    wrongScopes: "mgmt.write mcp.read mcp.write",
    request: ({ webhook }) => ({ input: { webhook_id: webhook } }),
    namesSomething: true,
  },
  UpdateWebhook: {
    wrongScopes: "mgmt.read mcp.read mcp.write",
    request: ({ webhook }) => ({ input: { webhook_id: webhook, name: "Taken over" } }),
    namesSomething: true,
  },
  RotateWebhookSecret: {
    wrongScopes: "mgmt.read mcp.read mcp.write",
    request: ({ webhook }) => ({ input: { webhook_id: webhook } }),
    namesSomething: true,
  },
  DeleteWebhook: {
    wrongScopes: "mgmt.read mcp.read mcp.write",
    request: ({ webhook }) => ({ input: { webhook_id: webhook } }),
    namesSomething: true,
  },
  ListWebhookDeliveries: {
    wrongScopes: "mgmt.write mcp.read mcp.write",
    request: () => ({ input: {} }),
    namesSomething: false,
  },
  GetWebhookDelivery: {
    wrongScopes: "mgmt.write mcp.read mcp.write",
    request: ({ delivery }) => ({ input: { delivery_id: delivery } }),
    namesSomething: true,
  },
  ResendWebhookDelivery: {
    wrongScopes: "mgmt.read mcp.read mcp.write",
    request: ({ delivery }) => ({ input: { delivery_id: delivery } }),
    namesSomething: true,
  },
};
