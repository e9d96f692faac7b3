export interface RequestTemplate {
  readonly method: "GET" | "POST" | "PUT";
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A job of a load process against one server. */
export type Job =
  /**
   * Keeps every connection busy over HTTP/1.1; connection n sends `requests[n % length]`. The response must be 200 and
   * contain `expected`.
   */
  | {
      readonly kind: "closed-http1";
      readonly url: string;
      readonly requests: readonly RequestTemplate[];
      readonly expected: string;
      readonly connections: number;
      readonly seconds: number;
    }
  /** Keeps every connection busy over cleartext HTTP/2 with one gRPC call each. The answer must be `expected`, in base64. */
  | {
      readonly kind: "closed-grpc";
      readonly url: string;
      readonly path: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly message: string;
      readonly expected: string;
      readonly connections: number;
      readonly seconds: number;
    }
  /** Sends at a fixed rate regardless of the responses, over as many connections as needed, up to `connections`. */
  | {
      readonly kind: "open-http1";
      readonly url: string;
      readonly request: RequestTemplate;
      readonly expected: string;
      readonly ratePerSecond: number;
      readonly connections: number;
      readonly seconds: number;
    }
  /** Calls at a fixed rate over one connection of cleartext HTTP/2. The answer must be `expected`, in base64. */
  | {
      readonly kind: "open-grpc";
      readonly url: string;
      readonly path: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly message: string;
      readonly expected: string;
      readonly ratePerSecond: number;
      readonly seconds: number;
    }
  /** Keeps every connection busy over HTTP/1.1, whatever the answers are. */
  | {
      readonly kind: "flood-http1";
      readonly url: string;
      readonly request: RequestTemplate;
      readonly expected: string;
      readonly connections: number;
      readonly seconds: number;
    };

/** Times are in milliseconds; in an open loop they start when a request was due. */
export interface Outcome {
  readonly seconds: number;
  /** Expected responses. */
  readonly good: number;
  /** 503 responses; only an open loop and a flood tolerate them. */
  readonly refused: number;
  /** Other statuses, other bodies, broken connections. */
  readonly wrong: number;
  /** Latencies of the expected responses. */
  readonly p50: number;
  readonly p99: number;
  /** An example of a wrong response. */
  readonly example?: string;
}
