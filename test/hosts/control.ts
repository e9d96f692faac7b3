import { listen } from "./listen.ts";
import type { Witness } from "./witness.ts";

/** Tells programs what the upstreams have seen: `/<index>/started` and `/<index>/canceled`. */
export async function startControl(
  upstreams: readonly { readonly witness: Witness }[],
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const server = await listen(async ({ url = "" }, response) => {
    const [, index, event] = url.split("/");
    const witness = upstreams[Number(index)]?.witness;
    if (witness === undefined || (event !== "started" && event !== "canceled")) {
      response.writeHead(404).end();
      return;
    }
    await witness[event]();
    response.writeHead(204).end();
  });
  return { url: `http://${server.host}`, close: () => server.close() };
}
