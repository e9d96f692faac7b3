const MAX_MESSAGE_LENGTH = 500;

/** Returns one line of at most 500 characters. */
export function clip(text: string): string {
  const line = text.replaceAll(/\s+/g, " ");
  return line.length > MAX_MESSAGE_LENGTH ? `${line.slice(0, MAX_MESSAGE_LENGTH - 1)}…` : line;
}
