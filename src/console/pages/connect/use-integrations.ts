import { useQuery } from "@tanstack/react-query";
import { bodyOf } from "../../api/client.ts";
import { useApi } from "../../api/context.ts";

/** The catalog; it changes with a new version of the service alone. */
export function useIntegrations() {
  const { client } = useApi();
  return useQuery({
    queryKey: ["integrations"],
    queryFn: async () => (await bodyOf(client.GET("/api/v1/integrations"))).data,
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** Names kinds of integrations as people know them; by their word until the catalog is there. */
export function useIntegrationTitles(): (serverType: string | undefined) => string {
  const { data } = useIntegrations();
  return (serverType = "") => data?.find((each) => each.server_type === serverType)?.title ?? serverType;
}
