import { setTimeout as sleep } from "node:timers/promises";
import type { DescService } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  HealthCheckResponse_ServingStatus as Status,
  type Health,
} from "../../../gen/proto/grpc/health/v1/health_pb.ts";
import { DomainError } from "../../domain-error.ts";

/** Interval at which a watch checks the status, in milliseconds. */
const POLL_MS = 1_000;

/** gRPC health of the server (empty name) and of each of its services. */
export function createHealthService(
  services: readonly DescService[],
  isReady: () => boolean | Promise<boolean>,
): ServiceImpl<typeof Health> {
  const names = new Set(["", ...services.map((service) => service.typeName)]);
  const status = async (service: string): Promise<Status> => {
    if (!names.has(service)) return Status.SERVICE_UNKNOWN;
    return (await isReady()) ? Status.SERVING : Status.NOT_SERVING;
  };

  return {
    check: async ({ service }) => {
      if (!names.has(service)) throw new DomainError("not_found", "unknown service");
      return { status: await status(service) };
    },
    watch: async function* ({ service }, { signal }) {
      let told: Status | undefined;
      while (!signal.aborted) {
        const now = await status(service);
        if (now !== told) yield { status: now };
        told = now;
        await sleep(POLL_MS, undefined, { signal, ref: false }).catch(() => undefined);
      }
    },
  };
}
