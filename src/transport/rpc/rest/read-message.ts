import { create, type DescMessage, type Message } from "@bufbuild/protobuf";
import { invalid } from "../../../domain-error.ts";
import type { JsonObject } from "../../../json.ts";
import { createValueReader, type ValueReader } from "./read-value.ts";

/** Turns a JSON object into a message. `path` precedes the names of its fields in errors. */
export type MessageReader = (json: JsonObject, path: string) => Message;

/** How a body is read. */
export interface ReaderOptions {
  /** Whether unknown fields are ignored rather than refused. */
  readonly lenient: boolean;
  /** Fields that the body may not carry, by JSON name, with the sentence that says why. */
  readonly elsewhere: ReadonlyMap<string, string>;
}

/**
 * Makes the reader of a message type. Names are exactly the JSON names, types exactly the JSON types of the contract:
 * no numbers in strings, no camel-case aliases. `null` means that the field was left out.
 */
export function createMessageReader(desc: DescMessage, options: ReaderOptions): MessageReader {
  const readers = new Map<string, { readonly localName: string; readonly read: ValueReader }>();
  for (const field of desc.fields) {
    if (options.elsewhere.has(field.jsonName)) continue;
    readers.set(field.jsonName, { localName: field.localName, read: createValueReader(field, options.lenient) });
  }
  return (json, path) => {
    const message = create(desc);
    for (const [key, value] of Object.entries(json)) {
      const field = readers.get(key);
      if (field === undefined) {
        const sentence = options.elsewhere.get(key);
        if (sentence !== undefined) throw invalid(key, sentence);
        if (options.lenient) continue;
        throw unknownField(path + key);
      }
      if (value !== null) Reflect.set(message, field.localName, field.read(value, path + key));
    }
    return message;
  };
}

/** A name that the contract does not know, echoed as far as it is fit to print. */
export function unknownField(name: string): Error {
  const shown = printable(name);
  return invalid(shown, `${shown} is not a known field.`);
}

/** At most 64 printable characters of what a caller sent, for an error that echoes it. */
export function printable(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/[^\P{C}]/gu, "?")
    .slice(0, 64);
}
