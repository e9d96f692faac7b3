import { runClosedGrpc } from "./closed-grpc.ts";
import { runClosedHttp1 } from "./closed-http1.ts";
import { runFloodHttp1 } from "./flood-http1.ts";
import type { Job, Outcome } from "./job.ts";
import { runOpenGrpc } from "./open-grpc.ts";
import { runOpenHttp1 } from "./open-http1.ts";

// A load process: runs each job it receives and returns the result.
process.on("message", (job: Job) => {
  run(job).then(
    (outcome) => process.send?.(outcome),
    (error: unknown) => {
      throw error;
    },
  );
});

function run(job: Job): Promise<Outcome> {
  switch (job.kind) {
    case "closed-http1":
      return runClosedHttp1(job);
    case "closed-grpc":
      return runClosedGrpc(job);
    case "open-http1":
      return runOpenHttp1(job);
    case "open-grpc":
      return runOpenGrpc(job);
    case "flood-http1":
      return runFloodHttp1(job);
  }
}
