/** What is under way, in the order of its beginning. */
export interface Ring<Value> {
  /** Adds a value; what is returned takes it out again, at once and as often as it is called. */
  add(value: Value): () => void;
  /** The value that is in it for the longest. */
  oldest(): Value | undefined;
  /** Takes that one out. */
  removeOldest(): void;
  /** All that are in it now, from the oldest to the newest. */
  values(): readonly Value[];
}

/** A value between its neighbours; out of the ring they are itself. */
interface Link<Value> {
  readonly value: Value;
  before: Link<Value>;
  after: Link<Value>;
}

/**
 * Makes a ring for what comes and goes with every request.
 *
 * Not a `Set` or a `Map`: one that loses as many as it gains is copied ever again, and each copy that has grown old keeps the
 * requests of its time in memory until the next full collection.
 */
export function createRing<Value>(): Ring<Value> {
  let oldest: Link<Value> | undefined;

  function remove(link: Link<Value>): void {
    if (oldest === link) oldest = link.after === link ? undefined : link.after;
    link.before.after = link.after;
    link.after.before = link.before;
    link.before = link;
    link.after = link;
  }

  return {
    add(value) {
      const link = new OwnLink(value);
      if (oldest === undefined) oldest = link;
      else {
        link.before = oldest.before;
        link.after = oldest;
        oldest.before.after = link;
        oldest.before = link;
      }
      return () => remove(link);
    },
    oldest: () => oldest?.value,
    removeOldest() {
      if (oldest !== undefined) remove(oldest);
    },
    values() {
      const values: Value[] = [];
      for (let link = oldest; link !== undefined; link = link.after === oldest ? undefined : link.after) {
        values.push(link.value);
      }
      return values;
    },
  };
}

class OwnLink<Value> implements Link<Value> {
  readonly value: Value;
  before: Link<Value> = this;
  after: Link<Value> = this;

  constructor(value: Value) {
    this.value = value;
  }
}
