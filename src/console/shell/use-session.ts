import { useQuery } from "@tanstack/react-query";
import { useApi } from "../api/context.ts";

export function useSession() {
  const { session } = useApi();
  return useQuery({ queryKey: ["session"], queryFn: () => session.read(), staleTime: Number.POSITIVE_INFINITY });
}
