import type { SnakeCase } from "@mikro-orm/postgresql";

type Named<Property> = Property extends string ? `${SnakeCase<Property>} as ${Property}` : never;

/** Selects columns under their property names: `serverType` is `server_type as "serverType"`. */
export function named<Property extends string>(...properties: readonly Property[]): readonly Named<Property>[] {
  // eslint-disable-next-line @typescript-eslint/no-unsafe-type-assertion -- the expression is what the type says.
  return properties.map((name) => `${snakeCase(name)} as ${name}` as Named<Property>);
}

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
