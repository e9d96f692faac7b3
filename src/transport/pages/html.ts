/** HTML that is safe to send: its text was written by us, and every value in it is escaped. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** What may stand in a template: text is escaped, HTML is taken as it is, nothing is left out. */
export type HtmlValue = string | number | Html | undefined | readonly (string | Html)[];

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escape(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? "");
}

function write(value: HtmlValue): string {
  if (value === undefined) return "";
  if (value instanceof Html) return value.text;
  if (typeof value === "string" || typeof value === "number") return escape(String(value));
  return value.map((item) => write(item)).join("");
}

/**
 * A template whose values are escaped. Values belong between tags or in attributes that are quoted and hold plain text;
 * an `href` or `action` takes a value only after its scheme has been checked.
 */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return new Html(strings.map((text, at) => text + write(values[at])).join(""));
}
