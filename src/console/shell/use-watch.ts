import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { useApi } from "../api/context.ts";
import { UPDATING } from "../pages/connection/use-update.ts";

/** Keeps what pages show of connections true while they are open, whoever changes it. */
export function useWatch(): void {
  const { session } = useApi();
  const queries = useQueryClient();
  useEffect(() => {
    const stop = new AbortController();
    function onChange(mayHaveOtherTools: boolean): void {
      // Our own changes are shown before they are saved, and read what they need when they are through.
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
