/** Sends a request, like `fetch`. */
export type Send = (request: Request) => Promise<Response>;
