/** An index in the words of its migration, for what a list of properties cannot say. */
export function indexAs(expression: string) {
  const [, name = ""] = /index (\w+) on/.exec(expression) ?? [];
  return { name, expression };
}
