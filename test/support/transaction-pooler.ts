import { once } from "node:events";
import { createServer, Socket } from "node:net";
import pg from "pg";

/** A pooler in transaction mode without prepared statements, like PgBouncer before 1.21. */
export interface TransactionPooler {
  /** The database's address through the pooler. */
  readonly url: string;
  close(): Promise<void>;
}

const SYNC = 0x53;
const SIMPLE_QUERY = 0x51;
const TERMINATE = 0x58;
const READY_FOR_QUERY = 0x5a;
const IDLE = 0x49;

/** The response to a startup message: logged in, ready, outside a transaction. */
const WELCOME = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, READY_FOR_QUERY, 0, 0, 0, 5, IDLE]);

/** Splits a protocol stream into messages (type, length, body). */
function createCutter(onMessage: (message: Buffer) => void): (bytes: Buffer) => void {
  let rest = Buffer.alloc(0);
  return (bytes) => {
    rest = Buffer.concat([rest, bytes]);
    while (rest.length >= 5 && rest.length > rest.readUInt32BE(1)) {
      const end = rest.readUInt32BE(1) + 1;
      onMessage(rest.subarray(0, end));
      rest = rest.subarray(end);
    }
  };
}

function refusal(parameter: string): Buffer {
  const fields = Buffer.from(`SFATAL\0C08P01\0Munsupported startup parameter: ${parameter}\0\0`);
  const head = Buffer.from([0x45, 0, 0, 0, 0]);
  head.writeUInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
}

/** Starts the pooler. It reuses the session returned last. */
export async function startTransactionPooler(databaseUrl: string): Promise<TransactionPooler> {
  const free: Socket[] = [];
  const sessions: pg.Client[] = [];
  const clients = new Set<Socket>();

  async function takeSession(): Promise<Socket> {
    const known = free.pop();
    if (known !== undefined) return known;
    const session = new pg.Client({ connectionString: databaseUrl });
    session.on("error", () => undefined);
    await session.connect();
    sessions.push(session);
    const socket = session.connection.stream;
    if (!(socket instanceof Socket)) throw new Error("the session has no socket");
    socket.removeAllListeners("data");
    return socket;
  }

  function serve(client: Socket): void {
    clients.add(client);
    client.on("error", () => undefined);
    client.on("close", () => clients.delete(client));
    let session: Socket | undefined;
    const exchange = async (unit: Buffer): Promise<void> => {
      const taken = (session ??= await takeSession());
      const { promise, resolve } = Promise.withResolvers<undefined>();
      taken.on(
        "data",
        createCutter((answer) => {
          client.write(answer);
          if (answer[0] !== READY_FOR_QUERY) return;
          taken.removeAllListeners("data");
          if (answer[5] === IDLE) {
            session = undefined;
            free.push(taken);
          }
          resolve(undefined);
        }),
      );
      taken.write(unit);
      await promise;
    };
    let exchanges = Promise.resolve();
    let unit: Buffer[] = [];
    const cut = createCutter((message) => {
      if (message[0] === TERMINATE) return;
      unit.push(message);
      if (message[0] !== SYNC && message[0] !== SIMPLE_QUERY) return;
      const whole = Buffer.concat(unit);
      unit = [];
      exchanges = exchanges.then(() => exchange(whole));
    });
    client.once("data", (start) => {
      const unsupported = /(statement_timeout|idle_in_transaction_session_timeout)/.exec(start.toString("latin1"));
      if (unsupported !== null) {
        client.end(refusal(unsupported[0]));
        return;
      }
      client.on("data", cut);
      client.write(WELCOME);
    });
  }

  const server = createServer(serve).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("the pooler has no port");
  const url = new URL(databaseUrl);
  url.hostname = "127.0.0.1";
  url.port = String(address.port);
  return {
    url: url.href,
    async close() {
      for (const client of clients) client.destroy();
      server.close();
      await once(server, "close");
      for (const session of sessions) session.connection.stream.destroy();
    },
  };
}
