import { type Http1Connection, openHttp1 } from "./http1-connection.ts";
import type { Job, Outcome } from "./job.ts";

/** Keeps every connection busy and repeats refused requests at once, like a client without back-off. */
export async function runFloodHttp1(job: Extract<Job, { kind: "flood-http1" }>): Promise<Outcome> {
  let good = 0;
  let refused = 0;
  let isOver = false;
  const drive = (connection: Http1Connection): void => {
    connection.send((answer) => {
      if (isOver) return;
      if (answer === undefined) {
        drive(openHttp1(job.url, job.request, job.expected));
        return;
      }
      if (answer.isExpected) good += 1;
      else refused += 1;
      drive(connection);
    });
  };
  const connections = Array.from({ length: job.connections }, () => openHttp1(job.url, job.request, job.expected));
  for (const connection of connections) drive(connection);
  await new Promise((resolve) => setTimeout(resolve, job.seconds * 1_000));
  isOver = true;
  for (const connection of connections) connection.close();
  return { seconds: job.seconds, good, refused, wrong: 0, p50: 0, p99: 0 };
}
