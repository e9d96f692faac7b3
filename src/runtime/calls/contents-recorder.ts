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

/** Limit for contents that wait to be written, in characters. Calls beyond it are recorded without contents. */
const MAX_WAITING_CHARACTERS = 16 * 1024 * 1024;
const MIN_CHARACTERS = 1_024;

export interface CallPayloads {
  readonly args: JsonObject;
  readonly result: CallResult | undefined;
}

/** Records calls with their payloads, for connections that keep contents. */
export interface ContentsRecorder {
  /** Adds a call without waiting. Never throws. The payloads must not change afterwards. */
  record(connection: Connection, record: CallRecord, payloads: CallPayloads): void;
  /** Writes all waiting calls, unless the database fails. */
  flush(): Promise<void>;
  /** Writes all waiting calls and ignores later ones. */
  close(): Promise<void>;
}

export interface ContentsRecorderDeps {
  readonly connections: Pick<ConnectionView, "target">;
  readonly catalog: Catalog;
  readonly store: CallContentsStore;
  /** Records calls whose contents cannot be kept. */
  readonly history: CallHistory;
  readonly log: WarnLog;
  readonly maxWaitingCharacters?: number;
}

/** Prepares contents after the response is sent, and writes them in batches. */
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
          // After a temporary failure the history writes the batch again.
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
    // The key was just replaced, so the old key cannot be found in the payloads and redacted.
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
          log.warn({ err: error }, "could not store the contents of a call");
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

/** The minimum size ensures that the character limit applies before the record limit of the history. */
function sizeOf(contents: string): number {
  return Math.max(MIN_CHARACTERS, contents.length);
}
