import { createRequire } from "node:module";
import { startChild, type Child } from "./child-process.ts";
import { freePort } from "./free-port.ts";

const ENTRY = createRequire(import.meta.url).resolve("@stoplight/prism-cli/dist/index.js");

export interface Prism {
  readonly url: string;
  output(): string;
  stop(): Promise<void>;
}

async function startPrism(args: readonly string[]): Promise<Prism> {
  const port = await freePort();
  const child: Child = await startChild({
    command: process.execPath,
    args: [ENTRY, ...args, "--port", String(port)],
    ready: /Prism is listening on/,
  });
  return {
    url: `http://127.0.0.1:${port}`,
    output: () => child.output(),
    stop: async () => {
      await child.end("SIGKILL");
    },
  };
}

/** Starts Prism between a client and a server. A contract violation by either returns an error. */
export function startPrismProxy(contract: string, upstream: string): Promise<Prism> {
  return startPrism(["proxy", contract, upstream, "--errors"]);
}

/** Starts Prism as a server that returns the contract's examples and, by default, rejects contract violations. */
export function startPrismMock(contract: string, flags: readonly string[] = ["--errors"]): Promise<Prism> {
  return startPrism(["mock", contract, ...flags]);
}
