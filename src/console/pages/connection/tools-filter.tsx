import { Group, Select } from "@mantine/core";
import type { Schemas } from "../../api/schemas.ts";
import { inWords } from "../../parts/in-words.ts";
import { SearchInput } from "../../parts/search-input.tsx";

type Tool = Schemas["Tool"];

/** The filter of tools. */
export interface Wanted {
  readonly text: string;
  readonly kind: string | null;
  readonly category: string | null;
}

/** The filter that matches every tool. */
export const ANY_TOOL: Wanted = { text: "", kind: null, category: null };

/** Returns the tools that match. */
export function findTools(tools: readonly Tool[], { text, kind, category }: Wanted): readonly Tool[] {
  const words = text.trim().toLowerCase();
  return tools.filter((tool) => {
    if (kind !== null && (kind === "read") !== tool.read_only) return false;
    if (category !== null && tool.annotations.category !== category) return false;
    return `${tool.name} ${tool.description}`.toLowerCase().includes(words);
  });
}

/** Fields of the filter: text, effect, and category if there are any. */
export function ToolsFilter({
  tools,
  wanted,
  onChange,
}: {
  readonly tools: readonly Tool[];
  readonly wanted: Wanted;
  readonly onChange: (wanted: Wanted) => void;
}) {
  const categories = [...new Set(tools.flatMap(({ annotations }) => annotations.category ?? []))].sort();
  return (
    <Group gap="sm">
      <SearchInput
        label="Search tools"
        placeholder="Search tools"
        value={wanted.text}
        onChange={(text) => {
          onChange({ ...wanted, text });
        }}
      />
      <Select
        aria-label="Filter by what tools do"
        placeholder="Read and write"
        clearable
        value={wanted.kind}
        onChange={(kind) => {
          onChange({ ...wanted, kind });
        }}
        data={[
          { value: "read", label: "Only read" },
          { value: "write", label: "Write" },
        ]}
        w={{ base: "100%", xs: 160 }}
      />
      {categories.length > 0 && (
        <Select
          aria-label="Filter by category"
          placeholder="Any category"
          clearable
          searchable
          value={wanted.category}
          onChange={(category) => {
            onChange({ ...wanted, category });
          }}
          data={categories.map((each) => ({ value: each, label: inWords(each) }))}
          w={{ base: "100%", xs: 180 }}
        />
      )}
    </Group>
  );
}
