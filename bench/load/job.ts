/** A request that is sent over and over. */
export interface RequestTemplate {
  readonly method: "GET" | "POST" | "PUT";
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** What a load process is asked to do against one server. */
export type Job =
  /** Keeps every connection busy over HTTP/1.1; connection n sends `requests[n % length]`. The answer must be 200 and hold `expected`. */
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
  /** Sends at a fixed rate whatever comes back, over as many connections as it takes up to `connections`. */
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

/** What came of it. Times are in milliseconds; in an open loop they count from when a request was due. */
export interface Outcome {
  readonly seconds: number;
  /** Answers as expected. */
  readonly good: number;
  /** Answers 503; only an open loop and a flood tolerate them. */
  readonly refused: number;
  /** Everything else: other statuses, other bodies, broken connections. */
  readonly wrong: number;
  /** Of the good answers. */
  readonly p50: number;
  readonly p99: number;
  /** An example of a wrong answer. */
  readonly example?: string;
}
