import type { RecordTokenIssue } from "../../../identity/audit/token-issues.ts";
import type { OAuthGrantStore } from "../../../identity/grants/grants.ts";
import type { ClientRequest } from "../clients/client-request.ts";
import type { AuthorizationProvider, TokenResponse } from "../provider/provider.ts";
import type { Log } from "../../http/log.ts";
import { checkTokenRequest } from "./token-request.ts";

/** Issues the requested tokens. Fails with an OAuthError. */
export type IssueTokens = (request: ClientRequest) => Promise<TokenResponse>;

/** Creates the token endpoint, which runs after client authentication. */
export function createIssueTokens(deps: {
  readonly issuer: string;
  readonly provider: () => Promise<Pick<AuthorizationProvider, "issue">>;
  readonly grants: Pick<OAuthGrantStore, "touch">;
  readonly recordIssue: RecordTokenIssue;
  readonly log: Log;
}): IssueTokens {
  return async (request) => {
    const { form, context } = checkTokenRequest(deps.issuer, request);
    const issued = await (await deps.provider()).issue(form, context);
    const { grant } = context;
    const accountId = grant?.accountId ?? context.client.own?.accountId;
    const memberId = grant === undefined ? context.client.own?.memberId : grant.memberId;
    if (accountId !== undefined)
      deps.recordIssue({ accountId, memberId, clientId: request.client.clientId, outcome: "ok", ...request.origin });
    // The tokens are already issued; failing to record the time of use is not worth losing them.
    if (grant !== undefined)
      await deps.grants.touch(grant.accountId, grant.id).catch((error: unknown) => {
        deps.log.error({ err: error }, "the use of a grant could not be recorded");
      });
    return issued;
  };
}
