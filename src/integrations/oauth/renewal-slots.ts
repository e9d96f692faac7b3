export interface RenewalLimits {
  /** The maximum for all servers together, up to the number of database connections reserved for renewals. */
  readonly total: number;
  /** The maximum per authorization server, so that a slow one cannot use all slots. */
  readonly perServer: number;
}

/** Limits concurrent renewals; further ones wait in order. */
export interface RenewalSlots {
  run<Result>(server: string, work: () => Promise<Result>): Promise<Result>;
}

export function createRenewalSlots({ total, perServer }: RenewalLimits): RenewalSlots {
  const running = new Map<string, number>();
  const waiting: { readonly server: string; readonly start: () => void }[] = [];
  let count = 0;

  const hasRoom = (server: string): boolean => count < total && (running.get(server) ?? 0) < perServer;

  function enter(server: string): void {
    count += 1;
    running.set(server, (running.get(server) ?? 0) + 1);
  }

  function leave(server: string): void {
    count -= 1;
    const left = (running.get(server) ?? 1) - 1;
    if (left > 0) running.set(server, left);
    else running.delete(server);
    const next = waiting.findIndex((one) => hasRoom(one.server));
    const [started] = next === -1 ? [] : waiting.splice(next, 1);
    if (started === undefined) return;
    enter(started.server);
    started.start();
  }

  return {
    async run(server, work) {
      if (hasRoom(server)) enter(server);
      else await new Promise<void>((start) => waiting.push({ server, start }));
      try {
        return await work();
      } finally {
        leave(server);
      }
    },
  };
}
