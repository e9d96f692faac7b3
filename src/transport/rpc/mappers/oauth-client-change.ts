import type { UpdateOAuthClientRequest } from "../../../../gen/proto/patchbay/v1/oauth_client_service_pb.ts";
import { readUpdateMask, type SuppliedFields } from "./update-mask.ts";

/** What an update request changes. Throws `invalid` for a mask that does not fit the request. */
export function fromUpdateClientRequest(request: UpdateOAuthClientRequest): {
  readonly name: string | undefined;
  readonly redirectUris: readonly string[] | undefined;
} {
  const isNamed = readUpdateMask(request, SUPPLIED);
  return {
    name: isNamed("name") ? request.name : undefined,
    redirectUris: isNamed("redirect_uris") ? request.redirectUris : undefined,
  };
}

const SUPPLIED: SuppliedFields<UpdateOAuthClientRequest> = {
  name: (request) => request.name !== undefined,
  redirect_uris: (request) => request.redirectUris.length > 0 || "unknown",
};
