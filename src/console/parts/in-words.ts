/** A word of the contract, such as `time_off`, as people read it. */
export function inWords(word: string): string {
  const words = word.replaceAll("_", " ");
  return words.length <= 3 ? words.toUpperCase() : words.charAt(0).toUpperCase() + words.slice(1);
}
