import { connect, type Socket } from "node:net";

const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
const DATA = 0x0;
const HEADERS = 0x1;
const RST_STREAM = 0x3;
const SETTINGS = 0x4;
const PING = 0x6;
const GOAWAY = 0x7;
const WINDOW_UPDATE = 0x8;
const END_STREAM = 0x1;
const END_HEADERS = 0x4;
const ACK = 0x1;
const INITIAL_WINDOW_SIZE = 0x4;
const MAX_WINDOW = 2 ** 31 - 1;
/** The connection's receive window is replenished after this many bytes. */
const REFILL_BYTES = 2 ** 28;

function frame(type: number, flags: number, stream: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** HPACK without compression: every field is a literal without indexing. */
function encodeHeaders(headers: Readonly<Record<string, string>>): Buffer {
  const text = (value: string): Buffer => {
    const bytes = Buffer.from(value);
    if (bytes.length < 127) return Buffer.concat([Buffer.from([bytes.length]), bytes]);
    const prefix = [127];
    let rest = bytes.length - 127;
    for (; rest >= 128; rest = Math.floor(rest / 128)) prefix.push((rest % 128) + 128);
    return Buffer.concat([Buffer.from([...prefix, rest]), bytes]);
  };
  return Buffer.concat(
    Object.entries(headers).flatMap(([name, value]) => [Buffer.from([0x10]), text(name), text(value)]),
  );
}

export interface GrpcConnectionOptions {
  readonly url: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly message: Uint8Array;
  /**
   * Called at the end of each call with the DATA of its response, or undefined after a reset or a broken connection.
   */
  readonly onAnswer: (body: Buffer | undefined) => void;
}

/** One HTTP/2 connection with one gRPC call at a time, built from frames, as cheap for the client as `h2load`. */
export function openGrpc(options: GrpcConnectionOptions): { call(): void; close(): void } {
  const { host, hostname, port } = new URL(options.url);
  const socket: Socket = connect({ host: hostname, port: Number(port), noDelay: true });
  const block = encodeHeaders({
    ":method": "POST",
    ":scheme": "http",
    ":path": options.path,
    ":authority": host,
    "content-type": "application/grpc",
    te: "trailers",
    ...options.headers,
  });
  const body = Buffer.concat([Buffer.alloc(1), uint32(options.message.length), options.message]);
  let stream = 1;
  let seen: Buffer = Buffer.alloc(0);
  let data: Buffer[] = [];
  let received = 0;

  socket.write(
    Buffer.concat([
      PREFACE,
      frame(SETTINGS, 0, 0, Buffer.concat([Buffer.from([0, INITIAL_WINDOW_SIZE]), uint32(MAX_WINDOW)])),
      frame(WINDOW_UPDATE, 0, 0, uint32(MAX_WINDOW - 65_535)),
    ]),
  );
  const end = (answer: Buffer | undefined): void => {
    data = [];
    stream += 2;
    options.onAnswer(answer);
  };
  const take = (type: number, flags: number, payload: Buffer): void => {
    if (type === SETTINGS && (flags & ACK) === 0) socket.write(frame(SETTINGS, ACK, 0, Buffer.alloc(0)));
    else if (type === PING && (flags & ACK) === 0) socket.write(frame(PING, ACK, 0, payload));
    else if (type === GOAWAY || type === RST_STREAM) end(undefined);
    else if (type === DATA) {
      data.push(payload);
      received += payload.length;
      if (received > REFILL_BYTES) {
        socket.write(frame(WINDOW_UPDATE, 0, 0, uint32(received)));
        received = 0;
      }
    }
    if ((type === HEADERS || type === DATA) && (flags & END_STREAM) !== 0) end(Buffer.concat(data));
  };
  socket.on("data", (chunk: Buffer) => {
    seen = seen.length === 0 ? chunk : Buffer.concat([seen, chunk]);
    let at = 0;
    while (seen.length - at >= 9) {
      const next = at + 9 + seen.readUIntBE(at, 3);
      if (next > seen.length) break;
      take(seen[at + 3] ?? 0, seen[at + 4] ?? 0, seen.subarray(at + 9, next));
      at = next;
    }
    seen = seen.subarray(at);
  });
  socket.on("error", () => end(undefined));

  return {
    call: () => {
      if (socket.destroyed) return;
      socket.write(Buffer.concat([frame(HEADERS, END_HEADERS, stream, block), frame(DATA, END_STREAM, stream, body)]));
    },
    close: () => socket.destroy(),
  };
}
