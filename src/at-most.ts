/**
 * Bounds an `LRUCache` to so many entries, for which it takes memory as they come. Told `max` it would set aside room for all
 * of them at once, 24 bytes each, and there are a few dozen caches of tens of thousands.
 */
export function atMost(entries: number): { readonly maxSize: number; readonly sizeCalculation: () => number } {
  return { maxSize: entries, sizeCalculation: () => 1 };
}
