/** Words with unusual spelling. */
const SPELLED: Readonly<Record<string, string>> = {
  api: "API",
  crm: "CRM",
  hr: "HR",
  id: "id",
  oauth: "OAuth",
  url: "URL",
};

/** A word of the contract, such as `time_off`, in its written form. */
export function inWords(word: string): string {
  const words = word.split("_").map((each) => SPELLED[each] ?? each);
  const text = words.join(" ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}
