import { setImmediate as afterResponse } from "node:timers/promises";
import type { Connection } from "../../connections/connection.ts";
import type { ConnectionView } from "../../connections/connection-view.ts";
import { DomainError } from "../../domain-error.ts";
import type { Catalog } from "../../integrations/integration.ts";
import { createScrubber } from "../../integrations/scrub.ts";
import type { CallResult } from "../../integrations/tool.ts";
import type { JsonObject } from "../../json.ts";
import { prepareContents, printContents, type CallContentsStore, type CallWithContents } from "./call-contents.ts";
import { createCallHistory, type CallHistory } from "./call-history.ts";
import type { CallRecord } from "./call-record.ts";
import type { WarnLog } from "../../log.ts";

/** Contents that wait to be written, in characters; what comes beyond is in the history without them. */
const MAX_WAITING_CHARACTERS = 16 * 1024 * 1024;
const MIN_CHARACTERS = 1_024;

/** What was said in a call: its arguments and its result, where it had one. */
export interface CallPayloads {
  readonly args: JsonObject;
  readonly result: CallResult | undefined;
}

/** Keeps calls with their contents, for connections whose owner wants that. */
export interface ContentsRecorder {
  /** Takes a call; never waits and never throws. The values must not change afterwards. */
  record(connection: Connection, record: CallRecord, payloads: CallPayloads): void;
  /** Writes everything that waits, as far as the database allows. */
  flush(): Promise<void>;
  /** Writes what waits and stops taking calls. */
  close(): Promise<void>;
}

/** What keeping contents needs. */
export interface ContentsRecorderDeps {
  readonly connections: Pick<ConnectionView, "target">;
  readonly catalog: Catalog;
  readonly store: CallContentsStore;
  /** Where a call goes whose contents cannot be kept. */
  readonly history: CallHistory;
  readonly log: WarnLog;
  readonly maxWaitingCharacters?: number;
}

/** A keeper that prepares contents once the call is answered, and writes them in batches as the history does. */
export function createContentsRecorder(deps: ContentsRecorderDeps): ContentsRecorder {
  const { connections, catalog, store, history, log } = deps;
  const maxWaiting = deps.maxWaitingCharacters ?? MAX_WAITING_CHARACTERS;
  const preparing = new Set<Promise<void>>();
  let waitingCharacters = 0;
  let isClosed = false;

  function release(records: readonly CallWithContents[]): void {
    for (const { contents } of records) waitingCharacters -= sizeOf(contents);
  }

  const batches = createCallHistory<CallWithContents>({
    store: {
      async append(records) {
        try {
          await store.append(records);
        } catch (error) {
          const isTemporary =
            error instanceof DomainError && (error.kind === "unavailable" || error.kind === "conflict");
          // Those that may pass the history tries again.
          if (!isTemporary) release(records);
          throw error;
        }
        release(records);
      },
    },
    log,
  });

  async function prepare(connection: Connection, record: CallRecord, { args, result }: CallPayloads): Promise<void> {
    await afterResponse();
    const integration = catalog.get(connection.serverType);
    const { configuration } = await connections.target(connection);
    const secretProperties = integration?.secretProperties ?? [];
    // The key was replaced just now: what it was is not known any more, so it could not be found in what was said.
    const isKeyKnown = !connection.hasCredential || secretProperties.some((property) => property in configuration);
    const contents = isKeyKnown
      ? printContents(prepareContents(args, result, createScrubber(configuration, secretProperties, [])))
      : undefined;
    if (contents === undefined || waitingCharacters + sizeOf(contents) > maxWaiting) {
      history.record(record);
      return;
    }
    waitingCharacters += sizeOf(contents);
    batches.record({ ...record, contents });
  }

  async function flush(): Promise<void> {
    await Promise.all(preparing);
    await batches.flush();
  }

  return {
    record(connection, record, payloads) {
      if (isClosed) return;
      const work = prepare(connection, record, payloads)
        .catch((error: unknown) => {
          log.warn({ err: error }, "what was said in a call could not be kept");
          history.record(record);
        })
        .finally(() => preparing.delete(work));
      preparing.add(work);
    },

    flush,

    async close() {
      isClosed = true;
      await Promise.all(preparing);
      await batches.close();
    },
  };
}

/** Even the smallest counts for something, so that those that wait are fewer than the history lets wait. */
function sizeOf(contents: string): number {
  return Math.max(MIN_CHARACTERS, contents.length);
}
