import { create } from "@bufbuild/protobuf";
import { TimestampSchema } from "@bufbuild/protobuf/wkt";
import { expect, test } from "vitest";
import { fromWireRange, fromWireTimestamp } from "../../../src/transport/rpc/mappers/timestamp.ts";
import { parseTimestamp } from "../../../src/transport/rpc/rest/parse-timestamp.ts";

test.each([
  ["2026-07-01", "2026-07-01T00:00:00.000Z"],
  ["2026-07-01T09:00Z", "2026-07-01T09:00:00.000Z"],
  ["2026-07-01T09:00:00+02:00", "2026-07-01T07:00:00.000Z"],
  ["2026-07-01T09:00:00.123456789Z", "2026-07-01T09:00:00.123Z"],
])("REST parses the timestamp %s", (text, time) => {
  expect(parseTimestamp("since", text).toISOString()).toBe(time);
});

test.each(["", "yesterday", "2026-02-30", "2026-07-01T09:00:00", "2026-07-01T25:00:00Z", "2026-07-01 09:00:00Z", "1"])(
  "REST rejects the timestamp %j and names the field",
  (text) => {
    expect(() => parseTimestamp("since", text)).toThrow(
      expect.objectContaining({ kind: "invalid", field: "since" }) as Error,
    );
  },
);

test("converts a timestamp of a message to a date, and keeps an absent timestamp absent", () => {
  const since = create(TimestampSchema, { seconds: 1n, nanos: 2_000_000 });
  expect(fromWireRange({ since })).toEqual({ since: new Date(1_002), until: undefined });
});

test.each([
  ["after 9999", { seconds: 253_402_300_800n, nanos: 0 }],
  ["before 0001", { seconds: -62_135_596_801n, nanos: 0 }],
  ["with negative nanoseconds", { seconds: 0n, nanos: -1 }],
  ["with a full second of nanoseconds", { seconds: 0n, nanos: 1_000_000_000 }],
])("rejects a timestamp %s", (_title, fields) => {
  expect(() => fromWireTimestamp("until", create(TimestampSchema, fields))).toThrow(
    expect.objectContaining({ kind: "invalid", field: "until" }) as Error,
  );
});
