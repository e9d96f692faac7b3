import { useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";
import type { ShownConnection } from "./as-changed.ts";
import { useUpdate } from "./use-update.ts";

/** Adds ids to a set, or removes them. */
export function withSome(set: Iterable<number>, some: Iterable<number>, isIn: boolean): ReadonlySet<number> {
  const next = new Set(set);
  for (const each of some) {
    if (isIn) next.add(each);
    else next.delete(each);
  }
  return next;
}

/** Enables and disables tools of a connection; successive changes build on each other. The function is stable. */
export function useSwitchTools(id: string) {
  const queries = useQueryClient();
  const { mutate, error } = useUpdate(id);
  const switchAll = useMemo(
    () =>
      (tools: Iterable<number>, isOn: boolean): void => {
        const shown = queries.getQueryData<ShownConnection>(["connections", "one", id]);
        const off = withSome(shown?.listed.disabled_tools ?? [], tools, !isOn);
        mutate({ disabled_tools: [...off].sort((one, other) => one - other) });
      },
    [queries, mutate, id],
  );
  return { switchAll, error };
}
