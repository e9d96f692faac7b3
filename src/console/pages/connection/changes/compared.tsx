import { SimpleGrid, Text } from "@mantine/core";
import { type ChangeObject, diffJson, diffWordsWithSpace } from "diff";
import { visible } from "./visible.ts";

type Piece = ChangeObject<string>;

/** With more differences than this, both texts are shown whole, because comparing them would block the page. */
const LIMIT = { maxEditLength: 2_000 };

function piecesOf(before: string, after: string, isJson: boolean): readonly Piece[] {
  const found = isJson ? diffJson(before, after, LIMIT) : diffWordsWithSpace(before, after, LIMIT);
  // The library's types promise a result, but over the limit it returns none.
  const pieces: readonly Piece[] | undefined = found;
  return (
    pieces ?? [
      { value: before, removed: true, added: false, count: 1 },
      { value: after, removed: false, added: true, count: 1 },
    ]
  );
}

function Side({
  title,
  label,
  pieces,
  isCode,
  isNew,
}: {
  readonly title: string;
  readonly label: string;
  readonly pieces: readonly Piece[];
  readonly isCode: boolean;
  readonly isNew: boolean;
}) {
  const Changed = isNew ? "ins" : "del";
  return (
    <div>
      <Text size="xs" c="dimmed" mb={2}>
        {title}
      </Text>
      <div className={isCode ? "side side-code" : "side"} tabIndex={0} role="group" aria-label={`${label}, ${title}`}>
        {pieces.length === 0 && "–"}
        {pieces.map(({ value, added, removed }, at) =>
          added || removed ? <Changed key={at}>{visible(value)}</Changed> : <span key={at}>{visible(value)}</span>,
        )}
      </div>
    </div>
  );
}

/** A part of a tool's current and proposed definition side by side, with differences marked. */
export function Compared({
  label,
  before,
  after,
  isJson = false,
}: {
  readonly label: string;
  readonly before: string;
  readonly after: string;
  /** Whether both are JSON, which is compared by line instead of by word. */
  readonly isJson?: boolean;
}) {
  const pieces = piecesOf(before, after, isJson);
  return (
    <div>
      <Text size="sm" fw={600} mb={4}>
        {label}
      </Text>
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="sm">
        <Side
          title="In force"
          label={label}
          pieces={pieces.filter(({ added }) => !added)}
          isCode={isJson}
          isNew={false}
        />
        <Side title="Offered" label={label} pieces={pieces.filter(({ removed }) => !removed)} isCode={isJson} isNew />
      </SimpleGrid>
    </div>
  );
}
