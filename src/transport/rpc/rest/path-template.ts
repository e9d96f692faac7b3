import { getOption, hasOption, type DescMethod } from "@bufbuild/protobuf";
import { http } from "../../../../gen/proto/google/api/annotations_pb.ts";

/** Fields that identify a resource in a path; an invalid value returns 404. */
export function addressFields(method: DescMethod): readonly string[] {
  if (!hasOption(method, http)) return [];
  const rule = getOption(method, http);
  return [rule, ...rule.additionalBindings].flatMap(({ pattern }) =>
    pattern.case === undefined || pattern.case === "custom" ? [] : parameterNames(pattern.value),
  );
}

/** Returns the parameter names of a path. Throws for a path that REST does not support. */
export function parameterNames(template: string): readonly string[] {
  const names = [...template.matchAll(/\{([^{}]*)\}/g)].map((match) => match[1] ?? "");
  if (names.some((name) => !/^[a-z][a-z0-9_]*$/.test(name)))
    throw new Error(`REST does not support the path ${template}`);
  return names;
}
