import type { Integration } from "../src/integrations/integration.ts";
import type { JsonObject } from "../src/json.ts";
import { echo, ECHO_TOOLS } from "./echo.ts";

/** An integration whose tools are functions of this process, so a call does not wait for an upstream. */
export const LOCAL_INTEGRATION: Integration = {
  serverType: "local",
  title: "Local",
  description: "Echoes its message.",
  configurationSchema: { type: "object", properties: {}, additionalProperties: false },
  secretProperties: [],
  credentialProperty: undefined,
  destinationProperties: [],
  toolSource: "fixed",
  listTools: async () =>
    ECHO_TOOLS.map(({ name, description, inputSchema, annotations }) => ({
      name,
      description,
      inputSchema: inputSchema as JsonObject,
      annotations: { audience: ["user", "assistant"], requiresAuth: false },
      readOnly: annotations.readOnlyHint,
    })),
  callTool: async (_target, _tool, args) => ({ ...echo(args), isError: false }),
  verify: async () => ({ outcome: "verified" }),
};
