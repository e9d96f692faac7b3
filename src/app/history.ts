import type pg from "pg";
import type { Logger } from "pino";
import type { ConnectionStore } from "../connections/connection-store.ts";
import type { ConnectionView } from "../connections/connection-view.ts";
import type { Catalog } from "../integrations/integration.ts";
import { type CallHistory, createCallHistory } from "../runtime/calls/call-history.ts";
import { type ContentsRecorder, createContentsRecorder } from "../runtime/calls/contents-recorder.ts";
import { createCallHistoryReader, type CallHistoryReader } from "../runtime/calls/history-reader.ts";
import type { Orm } from "../storage/orm.ts";
import type { Sealer } from "../storage/sealing.ts";
import { createCallContentsReader, createCallContentsStore } from "../storage/stores/calls/call-contents.ts";
import { createCallPartitions } from "../storage/stores/calls/call-partitions.ts";
import { createCallRecordReader } from "../storage/stores/calls/call-record-reader.ts";
import { createCallRecordStore } from "../storage/stores/calls/call-record.ts";

export interface HistoryDeps {
  readonly orm: Orm;
  readonly pool: pg.Pool;
  readonly maintenance: pg.Pool;
  readonly sealer: Sealer;
  readonly historyDays: number;
  readonly connections: ConnectionStore;
  readonly view: ConnectionView;
  readonly catalog: Catalog;
  readonly log: Logger;
}

/** The call history, including payloads for connections that store them. */
export interface History {
  readonly history: CallHistory;
  readonly contents: ContentsRecorder;
  readonly callHistory: CallHistoryReader;
  /** Creates the next partitions and drops expired ones. */
  renew(): Promise<void>;
  /** Writes pending entries. */
  close(): Promise<void>;
}

export function composeHistory(deps: HistoryDeps): History {
  const { orm, pool, sealer, historyDays, connections, view, catalog, log } = deps;
  const history = createCallHistory({ store: createCallRecordStore(pool), log });
  const store = createCallContentsStore({ orm, sealer, historyDays });
  const contents = createContentsRecorder({ connections: view, catalog, store, history, log });
  const partitions = createCallPartitions(deps.maintenance, historyDays);
  return {
    history,
    contents,
    callHistory: createCallHistoryReader({
      records: createCallRecordReader(orm),
      contents: createCallContentsReader(orm, sealer),
      connections,
    }),
    renew: () => partitions.renew(new Date()),
    async close() {
      // Payloads that cannot be stored are noted in the history, so it closes last.
      await contents.close();
      await history.close();
    },
  };
}
