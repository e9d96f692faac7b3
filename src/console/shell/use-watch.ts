import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { useApi } from "../api/context.ts";
import { UPDATING } from "../pages/connection/use-update.ts";

/** Reloads connections when they change while their pages are open. */
export function useWatch(): void {
  const { session } = useApi();
  const queries = useQueryClient();
  useEffect(() => {
    const stop = new AbortController();
    function onChange(mayHaveOtherTools: boolean): void {
      // Our own changes are shown optimistically and reload what they need.
      const isSaving = queries.isMutating({ mutationKey: [...UPDATING] }) > 0;
      void queries.invalidateQueries({
        queryKey: ["connections"],
        predicate: ({ queryKey: [, what] }) => (what === "one" || what === "list" ? !isSaving : mayHaveOtherTools),
      });
    }
    void import("../api/watch.ts").then(({ watchConnections }) => watchConnections(session, onChange, stop.signal));
    return () => {
      stop.abort();
    };
  }, [session, queries]);
}
