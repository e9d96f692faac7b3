import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { useApi } from "../api/context.ts";

/** Keeps what pages show of connections true while they are open, whoever changes it. */
export function useWatch(): void {
  const { session } = useApi();
  const queries = useQueryClient();
  useEffect(() => {
    const stop = new AbortController();
    const onChange = () => void queries.invalidateQueries({ queryKey: ["connections"] });
    void import("../api/watch.ts").then(({ watchConnections }) => watchConnections(session, onChange, stop.signal));
    return () => {
      stop.abort();
    };
  }, [session, queries]);
}
