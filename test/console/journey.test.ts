// @module-tag browser
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, beforeAll, expect, test } from "vitest";
import { until } from "../support/until.ts";
import { connectBamboo, type ConsoleStage, startStage } from "./console.ts";

const CANARY = "canary-0f2a6c1e9b7d4385";

let stage: ConsoleStage;

beforeAll(async () => {
  stage = await startStage();
}, 90_000);
afterAll(async () => {
  await stage?.close();
});

async function listTools(token: string): Promise<readonly { readonly name: string }[]> {
  const client = new Client({ name: "journey", version: "1" });
  const headers = { authorization: `Bearer ${token}` };
  const transport = new StreamableHTTPClientTransport(new URL(`${stage.site.url}/mcp`), { requestInit: { headers } });
  await client.connect(transport as Parameters<Client["connect"]>[0]);
  const { tools } = await client.listTools();
  await client.close();
  return tools;
}

test("leads from the first visit to a token that an agent uses, and refuses the token after its revocation", async () => {
  const { page, complaints, foreign } = await stage.open(await stage.site.newPerson());
  await page.getByText("Nothing is connected yet").waitFor();
  const answers: string[] = [];
  page.on("response", (response) => {
    if (new URL(response.url()).pathname.startsWith("/api/"))
      void response.text().then(
        (text) => answers.push(text),
        () => undefined,
      );
  });

  const id = await connectBamboo(page, CANARY);
  await page.getByText(/^26 of 26 tools/).waitFor();

  await page.getByRole("tab", { name: "Access" }).click();
  await page.getByLabel("Read only").check();
  await page.getByText(/^Agents gain 0 and lose \d+ tools$/).waitFor();
  await page.getByRole("button", { name: "Save" }).click();
  await until(
    async () =>
      (await stage.site.query("select access_type from connection where id = $1", [id]))[0]?.["access_type"] === "read",
  );

  await page.getByRole("tab", { name: "Settings" }).click();
  await page.getByLabel("Alias", { exact: true }).fill("hr");
  await page.getByRole("button", { name: "Save the alias" }).click();
  await until(
    async () => (await stage.site.query("select alias from connection where id = $1", [id]))[0]?.["alias"] === "hr",
  );

  await page.getByRole("tab", { name: "Tools" }).click();
  await page.getByRole("button", { name: "Try list_time_off_types" }).click();
  await page.getByRole("button", { name: "Call", exact: true }).click();
  await page
    .getByRole("dialog")
    .getByText(/timeOffTypes|\d+ (fields|items)/)
    .first()
    .waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();

  await page.getByRole("link", { name: "Tokens and clients" }).click();
  await page.getByRole("button", { name: "New token" }).click();
  await page.getByLabel("Name").fill("Journey");
  await page.getByRole("button", { name: "Make the token" }).click();
  const token = (await page.getByLabel("token", { exact: true }).textContent()) ?? "";
  await page.getByRole("button", { name: "Done" }).click();
  const names = (await listTools(token)).map(({ name }) => name);
  expect(names).toContain("list_time_off_types");
  expect(names).not.toContain("create_employee");

  await page.getByRole("button", { name: "Revoke Journey" }).click();
  await page.getByRole("button", { name: "Revoke", exact: true }).click();
  await page.getByText("No token yet").waitFor();
  await expect(listTools(token)).rejects.toThrow(/401|Unauthorized|Invalid or expired token/);

  expect(foreign).toEqual([]);
  expect(complaints).toEqual([]);
  expect(answers.filter((text) => text.includes(CANARY))).toEqual([]);
  expect(await page.content()).not.toContain(CANARY);
  expect(page.url()).not.toContain(CANARY);
  expect(await page.evaluate("JSON.stringify({ ...localStorage, ...sessionStorage })")).not.toContain(CANARY);
}, 90_000);
