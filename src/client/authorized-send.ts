import type { Send } from "./send.ts";
import type { TokenSource } from "./token-source.ts";

/**
 * Adds the bearer token to requests without an `Authorization` of their own. A 401 is answered once with another token:
 * the service refuses before it does anything, so every request may be repeated.
 */
export function createAuthorizedSend(send: Send, source: TokenSource): Send {
  return async (request) => {
    if (request.headers.has("authorization")) return send(request);
    const token = await source.token();
    const answer = await send(withToken(request.clone(), token));
    if (answer.status !== 401 || source.renew === undefined) return answer;
    await answer.body?.cancel();
    return send(withToken(request, await source.renew(token)));
  };
}

function withToken(request: Request, token: string): Request {
  request.headers.set("authorization", `Bearer ${token}`);
  return request;
}
