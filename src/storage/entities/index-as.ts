/** An index in the words of its migration, for what a list of columns cannot express. */
export function indexAs(expression: string) {
  const [, name = ""] = /index (\w+) on/.exec(expression) ?? [];
  return { name, expression };
}
