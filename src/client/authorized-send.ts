import type { Send } from "./send.ts";
import type { TokenSource } from "./token-source.ts";

/**
 * Adds the bearer token to requests without their own `Authorization`. After a 401 it retries once with a new token.
 * This is safe for every request, because the service rejects a token before it does anything.
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
