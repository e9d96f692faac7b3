import { openOrm } from "./orm.ts";

// A process: migrates the database whose address it is sent, and sends back which migrations ran, or what went wrong.
process.once("message", (url: string) => {
  void answer(url).then((message) => {
    process.send?.(message);
    process.disconnect?.();
  });
});

async function answer(url: string): Promise<{ readonly names: readonly string[] } | { readonly failure: string }> {
  try {
    const orm = await openOrm(url);
    try {
      return { names: (await orm.migrator.up()).map(({ name }) => name) };
    } finally {
      await orm.close();
    }
  } catch (error) {
    return { failure: error instanceof Error ? error.message : String(error) };
  }
}
