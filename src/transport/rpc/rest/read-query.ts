import { ScalarType, type DescField } from "@bufbuild/protobuf";
import { DomainError, invalid } from "../../../domain-error.ts";
import { isTimestampField, setField } from "../message-fields.ts";
import { INT32_RANGE, outOfRange, printableValue, protoReader, readTimestamp } from "./read-message.ts";

/** Sets a message's fields from the query. Throws DomainError `invalid` with the parameter. */
export type QueryReader = (query: string, message: object) => void;

const INTEGER = /^-?\d{1,32}$/;

/** Creates the reader of a query: only the given fields, by JSON name, each once unless it is a list. */
export function createQueryReader(fields: readonly DescField[]): QueryReader {
  // Lists and maps of messages have no form in a query.
  const single = fields.filter(({ fieldKind }) => fieldKind !== "list" && fieldKind !== "map");
  const known = new Map(single.map((field) => [field.jsonName, { field, read: parameterReader(field) }]));
  return (query, message) => {
    if (query === "") return;
    const seen = new Set<string>();
    for (const pair of query.split("&")) {
      if (pair === "") continue;
      const equals = pair.indexOf("=");
      const name = decode(equals < 0 ? pair : pair.slice(0, equals));
      const text = decode(equals < 0 ? "" : pair.slice(equals + 1));
      const parameter = known.get(name);
      if (parameter === undefined) {
        throw invalid(printableValue(name), `${printableValue(name)} is not a known query parameter.`);
      }
      if (seen.has(name)) throw invalid(name, `${name} must be given once.`);
      seen.add(name);
      setField(message, parameter.field, parameter.read(text, name));
    }
  };
}

/** Returns the reader of one query or path parameter. */
export function parameterReader(field: DescField): (text: string, name: string) => unknown {
  if (field.fieldKind === "scalar") {
    switch (field.scalar) {
      case ScalarType.STRING:
        return (text) => text;
      case ScalarType.BOOL:
        return (text, name) => {
          if (text !== "true" && text !== "false") throw invalid(name, `${name} must be true or false.`);
          return text === "true";
        };
      case ScalarType.INT32:
        return (text, name) => {
          if (!INTEGER.test(text)) throw invalid(name, `${name} must be an integer.`);
          const number = Number(text);
          if (number < INT32_RANGE.min || number > INT32_RANGE.max) throw outOfRange(name);
          return number;
        };
      default:
        break;
    }
  }
  return isTimestampField(field) ? readTimestamp : protoReader(field, false);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    throw new DomainError("invalid", "The query string is not valid percent-encoded UTF-8.", {
      reason: "MALFORMED_REQUEST",
    });
  }
}
