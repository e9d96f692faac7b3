/** HTML that is safe to send: constant text with escaped values. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** A template value: text is escaped, HTML is inserted unchanged, undefined is omitted. */
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
 * Builds HTML from a template and escapes the values. Use values only between tags or in quoted attributes for plain
 * text; check the scheme of a value before using it in `href` or `action`.
 */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return new Html(strings.map((text, at) => text + write(values[at])).join(""));
}
