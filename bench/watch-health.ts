import { get } from "node:http";
import { parentPort, workerData } from "node:worker_threads";

// A thread that requests /healthz repeatedly between "start" and "stop", and reports the longest gap between two
// responses.
let isRunning = false;
let answeredAt = 0;
let longestMs = 0;

function look(): void {
  get(`${String(workerData)}/healthz`, (response) => {
    response.resume().on("end", () => {
      const now = performance.now();
      longestMs = Math.max(longestMs, now - answeredAt);
      answeredAt = now;
      if (isRunning) setTimeout(look, 5);
      else parentPort?.postMessage(longestMs);
    });
  });
}

parentPort?.on("message", (word: string) => {
  isRunning = word === "start";
  if (!isRunning) return;
  longestMs = 0;
  answeredAt = performance.now();
  look();
});
