import type { Socket } from "node:net";
import { openSocket } from "./raw.ts";

/** Connection preface of an HTTP/2 client (RFC 9113 §3.4). */
export const PREFACE: Buffer = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");

/** Frame types (RFC 9113 §6). */
export const FRAME = {
  data: 0,
  headers: 1,
  reset: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

/** Flag of HEADERS and DATA frames. */
export const END_STREAM = 1;
/** Flag of HEADERS and CONTINUATION frames. */
export const END_HEADERS = 4;

/** Encodes one frame. */
export function frame(type: number, flags: number, stream: number, payload: Uint8Array = new Uint8Array()): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

function literal(text: string): Buffer {
  const bytes = Buffer.from(text, "latin1");
  if (bytes.length < 127) return Buffer.concat([Buffer.of(bytes.length), bytes]);
  const rest = bytes.length - 127;
  return Buffer.concat([Buffer.of(127, (rest & 127) | 128, (rest >> 7) | 0), bytes]);
}

/** Encodes a header that the peer does not add to its HPACK table (RFC 7541 §6.2.2). */
export function header(name: string, value: string): Buffer {
  return Buffer.concat([Buffer.of(0), literal(name), literal(value)]);
}

/** Returns the header block of a GET request. */
export function get(path: string, ...more: readonly Buffer[]): Buffer {
  return Buffer.concat([Buffer.of(0x82, 0x86, 0x44), literal(path), Buffer.of(0x41), literal("a"), ...more]);
}

/** A client connection that sends and receives single HTTP/2 frames. */
export interface FrameSocket {
  readonly socket: Socket;
  /** Types of the received frames, in order. */
  readonly received: number[];
  /** Resolves when the peer closes the connection. */
  readonly closed: Promise<void>;
  send(...frames: readonly Uint8Array[]): void;
}

/** Connects and sends the preface. */
export async function openFrames(port: number): Promise<FrameSocket> {
  const socket = await openSocket(port);
  const received: number[] = [];
  let left: Buffer = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => {
    left = Buffer.concat([left, chunk]);
    while (left.length >= 9 && left.length >= 9 + left.readUIntBE(0, 3)) {
      received.push(left.readUInt8(3));
      left = left.subarray(9 + left.readUIntBE(0, 3));
    }
  });
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  socket.write(Buffer.concat([PREFACE, frame(FRAME.settings, 0, 0)]));
  return {
    socket,
    received,
    closed,
    send: (...frames) => {
      if (!socket.destroyed) socket.write(Buffer.concat(frames));
    },
  };
}
