/** Calls in flight, counted per connection so that a slow upstream fills only its own slots. */
export interface CallSlots {
  /** Takes a slot of the connection. False when all are taken. */
  take(connectionId: number): boolean;
  /** Gives a taken slot back. */
  release(connectionId: number): void;
}

/** At most `perConnection` slots for each connection. */
export function createCallSlots(perConnection: number): CallSlots {
  const taken = new Map<number, number>();
  return {
    take(connectionId) {
      const count = taken.get(connectionId) ?? 0;
      if (count >= perConnection) return false;
      taken.set(connectionId, count + 1);
      return true;
    },
    release(connectionId) {
      const count = taken.get(connectionId) ?? 0;
      if (count <= 1) taken.delete(connectionId);
      else taken.set(connectionId, count - 1);
    },
  };
}
