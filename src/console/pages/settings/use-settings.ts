import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { bodyOf } from "../../api/client.ts";
import { useApi } from "../../api/context.ts";
import type { Schemas } from "../../api/schemas.ts";

const KEY = ["account-settings"];

export function useSettings() {
  const { client } = useApi();
  return useQuery({
    queryKey: KEY,
    queryFn: async () => (await bodyOf(client.GET("/api/v1/account/settings"))).data,
  });
}

/** Changes settings: shown at once and reverted if rejected. */
export function useUpdateSettings() {
  const { client } = useApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (body: Schemas["UpdateAccountSettingsRequest"]) =>
      bodyOf(client.PUT("/api/v1/account/settings", { body })),
    async onMutate(change) {
      await queries.cancelQueries({ queryKey: KEY });
      const before = queries.getQueryData<Schemas["AccountSettings"]>(KEY);
      if (before !== undefined) queries.setQueryData(KEY, { ...before, ...change });
      return { before };
    },
    onError: (_error, _change, taken) => {
      queries.setQueryData(KEY, taken?.before);
    },
    onSettled: () => queries.invalidateQueries({ queryKey: KEY }),
  });
}
