/** Keeps the few best of many. */
export interface BestFew<Item> {
  add(item: Item, score: number): void;
  /** Those kept, best first. */
  sorted(): readonly Item[];
}

/** At most `count` items by their score, ties by `compare`; holds twice as many at a time, however many are added. */
export function createBestFew<Item>(count: number, compare: (a: Item, b: Item) => number): BestFew<Item> {
  let kept: { readonly item: Item; readonly score: number }[] = [];

  function shrink(): void {
    kept.sort((a, b) => b.score - a.score || compare(a.item, b.item));
    kept = kept.slice(0, count);
  }

  return {
    add(item, score) {
      kept.push({ item, score });
      if (kept.length >= 2 * count) shrink();
    },
    sorted() {
      shrink();
      return kept.map(({ item }) => item);
    },
  };
}
