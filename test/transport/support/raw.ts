import { connect, type Socket } from "node:net";

/** Opens a socket to a port on loopback. */
export async function openSocket(port: number): Promise<Socket> {
  const socket = connect({ host: "127.0.0.1", port });
  socket.on("error", () => undefined);
  await new Promise<void>((resolve) => socket.once("connect", resolve));
  return socket;
}

/** Returns everything that the peer sends until it closes the connection. */
export function readToEnd(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    socket.on("data", (chunk: Buffer) => chunks.push(chunk));
    socket.once("close", () => {
      resolve(Buffer.concat(chunks).toString("latin1"));
    });
  });
}

/** Sends text unchanged and returns everything that the peer sends until it closes the connection. */
export async function sendRaw(port: number, text: string): Promise<string> {
  const socket = await openSocket(port);
  const answer = readToEnd(socket);
  socket.write(text, "latin1");
  return await answer;
}

/** Resolves after the given number of milliseconds. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Resolves when the condition is true; fails after five seconds. */
export async function until(holds: () => boolean): Promise<void> {
  for (let tries = 0; tries < 500; tries += 1) {
    if (holds()) return;
    await pause(10);
  }
  throw new Error("it did not come true within five seconds");
}
