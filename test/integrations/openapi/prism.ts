import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { endingWithUs } from "../../support/child-process.ts";

const ENTRY = createRequire(import.meta.url).resolve("@stoplight/prism-cli/dist/index.js");

/** Prism serving a contract in place of its vendor. */
export interface Prism {
  readonly url: string;
  /** Returns the violations that Prism reported since the last call. */
  readonly stop: () => Promise<void>;
}

/** Starts `prism mock --errors` on a free port. Requests that violate the contract return an error. */
export async function startPrism(contractFile: string): Promise<Prism> {
  const prism = spawn(
    process.execPath,
    endingWithUs([ENTRY, "mock", "--errors", "--host", "127.0.0.1", "--port", "0", contractFile]),
    {
      stdio: ["ignore", "pipe", "pipe", "pipe"],
      env: { ...process.env, NO_COLOR: "1", FORCE_COLOR: "0" },
    },
  );
  let output = "";
  const url = await new Promise<string>((resolve, reject) => {
    const read = (chunk: Buffer): void => {
      output += chunk.toString("utf8");
      const found = /listening on (http:\/\/127\.0\.0\.1:\d+)/.exec(output)?.[1];
      if (found !== undefined) resolve(found);
    };
    prism.stdout?.on("data", read);
    prism.stderr?.on("data", read);
    prism.once("exit", () => {
      reject(new Error(`Prism did not start: ${output}`));
    });
  });
  return {
    url,
    stop: async () => {
      if (prism.exitCode !== null) return;
      prism.kill("SIGKILL");
      await once(prism, "exit");
    },
  };
}
