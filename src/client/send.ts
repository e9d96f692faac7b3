/** Sends a request: `fetch`, or something around it. */
export type Send = (request: Request) => Promise<Response>;
