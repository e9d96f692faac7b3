/** One event of a `text/event-stream`. */
export interface StreamEvent {
  readonly type: string;
  readonly data: string;
}

/** Reads server-sent events piece by piece, as they arrive. */
export interface EventStreamReader {
  /** The events that a piece completes. */
  read(chunk: Buffer): readonly StreamEvent[];
  /** The id to resume after, once the server has given one. */
  lastEventId(): string | undefined;
  /** How long the server asks to wait before resuming, in milliseconds. */
  retryMs(): number | undefined;
}

/** A reader by the WHATWG rules: any line ending, comments skipped, an unfinished last event dropped. The caller bounds its size. */
export function createEventStreamReader(): EventStreamReader {
  const decoder = new TextDecoder();
  let rest = "";
  let isCrPending = false;
  let data: string[] = [];
  let type = "";
  let lastEventId: string | undefined;
  let retryMs: number | undefined;

  const takeField = (line: string): void => {
    const colon = line.indexOf(":");
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "data") data.push(value);
    else if (field === "event") type = value;
    else if (field === "id" && !value.includes("\0")) lastEventId = value;
    else if (field === "retry" && /^\d{1,9}$/.test(value)) retryMs = Number(value);
  };

  return {
    read: (chunk) => {
      const text = decoder.decode(chunk, { stream: true });
      // A line can arrive in very many pieces: only a piece that ends one is worth joining and splitting.
      if (!/[\r\n]/.test(text) && !isCrPending) {
        rest += text;
        return [];
      }
      const all = rest + text;
      // A lone CR at the end may be half of a CRLF: it waits for the next piece.
      isCrPending = all.endsWith("\r");
      const complete = isCrPending ? all.slice(0, -1) : all;
      const lines = complete.split(/\r\n|\n|\r/);
      rest = (lines.pop() ?? "") + all.slice(complete.length);
      const events: StreamEvent[] = [];
      for (const line of lines) {
        if (line !== "") takeField(line);
        else {
          if (data.length > 0) events.push({ type: type === "" ? "message" : type, data: data.join("\n") });
          data = [];
          type = "";
        }
      }
      return events;
    },
    lastEventId: () => lastEventId,
    retryMs: () => retryMs,
  };
}
