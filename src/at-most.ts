/**
 * Limits an `LRUCache` to a number of entries without preallocation. The option `max` allocates 24 bytes per possible
 * entry at once.
 */
export function atMost(entries: number): { readonly maxSize: number; readonly sizeCalculation: () => number } {
  return { maxSize: entries, sizeCalculation: () => 1 };
}
