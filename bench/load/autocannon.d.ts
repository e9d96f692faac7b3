declare module "autocannon" {
  /** One connection of autocannon. */
  interface Client {
    setRequests(requests: readonly object[]): void;
    on(event: "response", listener: (status: number, bytes: number, milliseconds: number) => void): void;
  }
  /** The options in use; durations in seconds. */
  interface Options {
    readonly url: string;
    readonly connections: number;
    readonly duration: number;
    readonly requests: readonly object[];
    readonly verifyBody: (body: string) => boolean;
    readonly setupClient: (client: Client) => void;
  }
  /** The results in use. */
  interface Result {
    /** In seconds. */
    readonly duration: number;
    readonly errors: number;
    readonly mismatches: number;
    readonly non2xx: number;
    readonly "2xx": number;
  }
  export default function autocannon(options: Options): Promise<Result>;
}
