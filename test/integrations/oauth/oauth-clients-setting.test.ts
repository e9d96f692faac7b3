import { expect, test } from "vitest";
import { readConfig } from "../../../src/config.ts";

test("INTEGRATION_OAUTH_CLIENTS sets a client and its secret for each integration; the secret may contain colons", () => {
  const { integrationOAuthClients } = readConfig({ INTEGRATION_OAUTH_CLIENTS: "github=Iv1.a:se:cr=et, gitlab=b:c" });
  expect([...integrationOAuthClients]).toEqual([
    ["github", { clientId: "Iv1.a", clientSecret: "se:cr=et" }],
    ["gitlab", { clientId: "b", clientSecret: "c" }],
  ]);
});

test.each(["github=id:ok,gitlab=canary", "canary:canary", "github=:canary", "github=canary:", "git hub=canary:canary"])(
  "reports an invalid item in «%s» by its position, because it contains a secret",
  (value) => {
    const attempt = (): unknown => readConfig({ INTEGRATION_OAUTH_CLIENTS: value });
    expect(attempt).toThrow(/^Item [12] of INTEGRATION_OAUTH_CLIENTS is wrong/);
    expect(attempt).not.toThrow(/canary/);
  },
);
