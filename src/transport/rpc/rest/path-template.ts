import { getOption, hasOption, type DescMethod } from "@bufbuild/protobuf";
import { http } from "../../../../gen/proto/google/api/annotations_pb.ts";

/** The names of the fields that address a resource in a path of the RPC: an odd one is a resource that does not exist. */
export function addressFields(method: DescMethod): readonly string[] {
  if (!hasOption(method, http)) return [];
  const rule = getOption(method, http);
  return [rule, ...rule.additionalBindings].flatMap(({ pattern }) =>
    pattern.case === undefined || pattern.case === "custom" ? [] : parameterNames(pattern.value),
  );
}

/** The names of the parameters in a path. Throws for a path that REST does not support. */
export function parameterNames(template: string): readonly string[] {
  const names = [...template.matchAll(/\{([^{}]*)\}/g)].map((match) => match[1] ?? "");
  if (names.some((name) => !/^[a-z][a-z0-9_]*$/.test(name)))
    throw new Error(`REST does not support the path ${template}`);
  return names;
}
