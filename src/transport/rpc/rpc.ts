import { getOption, hasOption, type DescMethod } from "@bufbuild/protobuf";
import {
  error_texts,
  http_success_status,
  lenient_body,
  max_request_bytes,
  public$,
  required_scope,
} from "../../../gen/proto/patchbay/v1/options_pb.ts";

/** The default limit of a request body, in bytes (DESIGN §8). */
const DEFAULT_MAX_REQUEST_BYTES = 1024 * 1024;

/** An RPC and what its contract declares about access, texts and limits. */
export interface Rpc {
  readonly method: DescMethod;
  /** `/package.Service/Method`. */
  readonly path: string;
  /** The caller must have one of these. Empty if the RPC is public. */
  readonly requiredScopes: readonly string[];
  readonly isPublic: boolean;
  /** The specification's texts for this RPC. */
  readonly texts: { readonly forbidden: string; readonly internal: string };
  /** The HTTP status of a successful REST response. */
  readonly successStatus: number;
  /** Whether REST ignores unknown body fields and a missing body. */
  readonly lenientBody: boolean;
  /** The largest request in bytes, after decompression. */
  readonly maxRequestBytes: number;
  /** The `aud` values that a token may have. */
  readonly audiences: readonly string[];
}

/** Properties of a service that its contract does not state. */
export interface RpcAccess {
  /** The `aud` values that a token may have. */
  readonly audiences: readonly string[];
  /** For contracts that are not ours and cannot declare `public`: gRPC health and reflection. */
  readonly isPublic?: boolean;
}

/** Reads a method's declarations. Throws, and so prevents the start, if it declares neither a scope nor `public`. */
export function readRpc(method: DescMethod, access: RpcAccess): Rpc {
  const path = `/${method.parent.typeName}/${method.name}`;
  const requiredScopes = getOption(method, required_scope);
  const isPublic = access.isPublic === true || getOption(method, public$);
  if (requiredScopes.length === 0 && !isPublic) {
    throw new Error(`${path} declares neither required_scope nor public; refusing to serve it`);
  }
  if (requiredScopes.length > 0 && isPublic) {
    throw new Error(`${path} declares both required_scope and public; refusing to serve it`);
  }
  const texts = getOption(method, error_texts);
  return {
    method,
    path,
    requiredScopes,
    isPublic,
    texts: { forbidden: texts.forbidden || "You do not have permission to do this.", internal: texts.internal },
    successStatus: hasOption(method, http_success_status) ? getOption(method, http_success_status) : 200,
    lenientBody: getOption(method, lenient_body),
    maxRequestBytes: hasOption(method, max_request_bytes)
      ? getOption(method, max_request_bytes)
      : DEFAULT_MAX_REQUEST_BYTES,
    audiences: access.audiences,
  };
}
