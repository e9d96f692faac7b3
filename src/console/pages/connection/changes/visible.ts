/**
 * Characters that a person does not see but a model reads: control and formatting characters except line breaks and
 * tabs.
 */
const UNSEEN = /[^\P{C}\n\t]/gu;

/** Spells out invisible characters, so that nothing is accepted unseen. */
export function visible(text: string): string {
  return text.replaceAll(UNSEEN, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
}
