/** What a reader would not see and a model would: controls and formatting characters, line breaks and tabs apart. */
const UNSEEN = /[^\P{C}\n\t]/gu;

/** A text with what cannot be seen in it spelled out, so that nothing is accepted unread. */
export function visible(text: string): string {
  return text.replaceAll(UNSEEN, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
}
