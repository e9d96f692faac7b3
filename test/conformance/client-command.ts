/**
 * The command that the suite starts for a scenario: passes it to the client in the process of the run, because loading
 * the service's code for each scenario would take longer than the scenarios.
 */
const {
  CLIENT_URL = "",
  MCP_CONFORMANCE_SCENARIO: scenario = "",
  MCP_CONFORMANCE_CONTEXT: context = "{}",
} = process.env;
const url = process.argv.at(-1) ?? "";
const body = JSON.stringify({ scenario, url, context: JSON.parse(context) as unknown });
const answer = await fetch(CLIENT_URL, { method: "POST", body });
process.stdout.write(await answer.text());
process.exitCode = answer.ok ? 0 : 1;
