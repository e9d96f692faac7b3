import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createEventStreamReader } from "../../../src/integrations/mcp/http/event-stream.ts";

/** Reads a text in chunks of the given sizes. */
function read(text: string, sizes: readonly number[] = []): { data: readonly string[]; id: string | undefined } {
  const reader = createEventStreamReader();
  const bytes = Buffer.from(text);
  const data: string[] = [];
  let at = 0;
  for (const size of [...sizes, bytes.length]) {
    for (const event of reader.read(bytes.subarray(at, at + size))) data.push(event.data);
    at += size;
  }
  return { data, id: reader.lastEventId() };
}

describe("an event stream", () => {
  it.each<[string, string, readonly string[]]>([
    ["LF", "data: a\n\ndata: b\n\n", ["a", "b"]],
    ["CRLF", "data: a\r\n\r\ndata: b\r\n\r\n", ["a", "b"]],
    ["CR", "data: a\r\rdata: b\r\r\n", ["a", "b"]],
    ["a byte order mark", "\ufeffdata: a\n\n", ["a"]],
    ["several data lines", "data: a\ndata\ndata:b\ndata:  c\n\n", ["a\n\nb\n c"]],
    ["comments and unknown fields", ": hello\nfoo: bar\ndata: a\n:\n\n", ["a"]],
    ["events without data", "event: x\n\nid: 1\n\ndata: a\n\n", ["a"]],
    ["an unfinished event", "data: a\n\ndata: b\n", ["a"]],
  ])("is read with %s", (_form, text, expected) => {
    expect(read(text).data).toEqual(expected);
  });

  it("keeps the last id and ignores an id with NUL", () => {
    expect(read("id: 1\ndata: a\n\nid: 2\n\nid: 3\0\n\n").id).toBe("2");
  });

  it("parses the same for any chunk boundaries", () => {
    const piece = fc.constantFrom("data: ü🌍", "data:x", ": c", "id: 7", "\n", "\r\n", "\r", "\n\n", "event: message");
    fc.assert(
      fc.property(fc.array(piece), fc.array(fc.integer({ min: 0, max: 5 })), (pieces, sizes) => {
        // A CR at the end of a chunk is held back until the next character.
        const text = `${pieces.join("")}\n`;
        expect(read(text, sizes)).toEqual(read(text));
      }),
    );
  });

  it("parses one line in many chunks in linear time", () => {
    const reader = createEventStreamReader();
    const piece = Buffer.from("x".repeat(8));
    reader.read(Buffer.from("data: "));
    for (let count = 0; count < 200_000; count += 1) reader.read(piece);
    expect(reader.read(Buffer.from("\n\n"))[0]?.data).toHaveLength(1_600_000);
  });
});
