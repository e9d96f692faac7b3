import { Code, Text } from "@mantine/core";

/** Entries shown per level; the rest is counted. */
const SHOWN = 200;

function isBranch(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function Leaf({ name, value }: { readonly name: string; readonly value: unknown }) {
  return (
    <Text size="sm" component="div" style={{ overflowWrap: "anywhere" }}>
      {name !== "" && <strong>{name}: </strong>}
      <Code>{JSON.stringify(value)}</Code>
    </Text>
  );
}

/** JSON as a tree with expandable branches; the first two levels are expanded. */
export function JsonTree({
  value,
  name = "",
  depth = 0,
}: {
  readonly value: unknown;
  readonly name?: string;
  readonly depth?: number;
}) {
  if (!isBranch(value)) return <Leaf name={name} value={value} />;
  const entries: [string, unknown][] = Object.entries(value);
  const size = Array.isArray(value) ? `${entries.length} items` : `${entries.length} fields`;
  return (
    <details open={depth < 2}>
      <summary>
        {name !== "" && <strong>{name} </strong>}
        <Text span size="xs" c="dimmed">
          {size}
        </Text>
      </summary>
      <div className="branch">
        {entries.slice(0, SHOWN).map(([key, child]) => (
          <JsonTree key={key} name={key} value={child} depth={depth + 1} />
        ))}
        {entries.length > SHOWN && <Text size="xs">and {entries.length - SHOWN} more</Text>}
      </div>
    </details>
  );
}
