import { getOption, type DescMethod } from "@bufbuild/protobuf";
import { http } from "../../gen/proto/google/api/annotations_pb.ts";
import { rest_source, RestSource } from "../../gen/proto/patchbay/v1/options_pb.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/json.ts";
import type { Outcome } from "./outcome.ts";
import { serverSentEvents } from "./server-sent-events.ts";

export interface RestTarget {
  readonly verb: string;
  readonly path: string;
  readonly query: string;
  readonly body: JsonObject | undefined;
}

/** Builds the request from the method's google.api.http binding: path, query, and the rest as body. */
export function restTarget(method: DescMethod, input: JsonObject): RestTarget {
  const rule = getOption(method, http);
  // Of several bindings, selects the one whose path parameters are all supplied.
  const [chosen = rule] = [rule, ...rule.additionalBindings]
    .filter((each) => pathParameters(String(each.pattern.value)).every((name) => name in input))
    .toReversed();
  const template = String(chosen.pattern.value);
  const left: JsonObject = { ...input };
  const path = template.replaceAll(/\{([^}]*)\}/g, (_, name: string) => {
    const value = left[name];
    delete left[name];
    return encodeURIComponent(typeof value === "string" ? value : JSON.stringify(value ?? ""));
  });
  const takesBody = chosen.body === "*";
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(left)) {
    const field = method.input.fields.find(({ jsonName }) => jsonName === name);
    if (takesBody && (field === undefined || getOption(field, rest_source) !== RestSource.QUERY)) continue;
    query.set(name, typeof value === "string" ? value : JSON.stringify(value));
    delete left[name];
  }
  const verb = (chosen.pattern.case ?? "").toUpperCase();
  return { verb, path, query: query.size === 0 ? "" : `?${query.toString()}`, body: takesBody ? left : undefined };
}

function pathParameters(template: string): readonly string[] {
  return [...template.matchAll(/\{([^}]*)\}/g)].map((match) => match[1] ?? "");
}

/** Calls an operation over REST. For a stream it returns the first event. */
export async function callRest(url: string, method: DescMethod, input: JsonObject, headers: Headers): Promise<Outcome> {
  const { verb, path, query, body } = restTarget(method, input);
  if (body !== undefined) headers.set("content-type", "application/json");
  const response = await fetch(url + path + query, {
    method: verb,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
    redirect: "manual",
  });
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
  const text = isStream ? await firstEvent(response) : await response.text();
  const json = parse(text);
  const { detail, code, field } = isJsonObject(json) ? json : {};
  return {
    status: response.status,
    body: json,
    message: typeof detail === "string" ? detail : "",
    reason: response.status >= 400 && typeof code === "string" ? code : "",
    field: response.status >= 400 && typeof field === "string" ? field : "",
    headers: response.headers,
  };
}

function parse(text: string): JsonValue {
  return text === "" ? null : (JSON.parse(text) as JsonValue);
}

async function firstEvent(response: Response): Promise<string> {
  for await (const { data } of serverSentEvents(response)) return data;
  throw new Error("The stream ended before its first event.");
}
