import { Card, Chip, Group, SimpleGrid, Stack, Text, UnstyledButton } from "@mantine/core";
import { useState } from "react";
import type { Schemas } from "../../api/schemas.ts";
import { Initials } from "../../parts/initials.tsx";
import { inWords } from "../../parts/in-words.ts";
import { SearchInput } from "../../parts/search-input.tsx";

type Integration = Schemas["Integration"];

function toolsInWords({ tool_count: count }: Integration): string {
  return count === undefined ? "Its own tools" : `${count} tools`;
}

/** The first step: choosing the integration. */
export function ChooseIntegration({
  integrations,
  onChoose,
}: {
  readonly integrations: readonly Integration[];
  readonly onChoose: (serverType: string) => void;
}) {
  const [text, setText] = useState("");
  const [category, setCategory] = useState("");
  const categories = [...new Set(integrations.flatMap((each) => each.category ?? []))].sort();
  const wanted = text.trim().toLowerCase();
  const shown = integrations.filter(
    (each) =>
      (category === "" || each.category === category) &&
      `${each.title} ${each.description} ${each.server_type}`.toLowerCase().includes(wanted),
  );
  return (
    <Stack>
      <SearchInput
        label="Search the catalog"
        placeholder="BambooHR, issues, payments…"
        value={text}
        onChange={setText}
      />
      <Chip.Group value={category} onChange={setCategory}>
        <Group gap="xs" role="group" aria-label="Category">
          <Chip value="">All</Chip>
          {categories.map((each) => (
            <Chip key={each} value={each}>
              {inWords(each)}
            </Chip>
          ))}
        </Group>
      </Chip.Group>
      {shown.length === 0 && (
        <Text c="dimmed">Nothing in the catalog is like that. “OpenAPI document” connects any API that has one.</Text>
      )}
      <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }}>
        {shown.map((each) => (
          <UnstyledButton
            key={each.server_type}
            onClick={() => {
              onChoose(each.server_type);
            }}
          >
            <Card withBorder h="100%" padding="md">
              <Group wrap="nowrap" align="flex-start">
                <Initials name={each.title} />
                <Stack gap={2}>
                  <Text fw={600}>{each.title}</Text>
                  <Text size="sm" c="dimmed">
                    {each.description}
                  </Text>
                  <Text size="xs" c="dimmed">
                    {toolsInWords(each)}
                  </Text>
                </Stack>
              </Group>
            </Card>
          </UnstyledButton>
        ))}
      </SimpleGrid>
    </Stack>
  );
}
