import { useQuery } from "@tanstack/react-query";
import { bodyOf } from "../../api/client.ts";
import { useApi } from "../../api/context.ts";

/** The catalog. It changes only with a new version of the service. */
export function useIntegrations() {
  const { client } = useApi();
  return useQuery({
    queryKey: ["integrations"],
    queryFn: async () => (await bodyOf(client.GET("/api/v1/integrations"))).data,
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** Returns the titles of integrations, or their types until the catalog is loaded. */
export function useIntegrationTitles(): (serverType: string | undefined) => string {
  const { data } = useIntegrations();
  return (serverType = "") => data?.find((each) => each.server_type === serverType)?.title ?? serverType;
}
