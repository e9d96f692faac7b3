import { Group, Stack, Text, Title } from "@mantine/core";
import { type ReactNode, useEffect } from "react";
import { useArrival } from "../shell/arrival.ts";

/** The header of a page: its name (also the title of the browser tab), a sentence, and actions. */
export function PageHeader({
  title,
  about,
  actions,
}: {
  readonly title: string;
  readonly about?: ReactNode;
  readonly actions?: ReactNode;
}) {
  const heading = useArrival(title);
  useEffect(() => {
    document.title = `${title} · Patchbay`;
  }, [title]);
  return (
    <Group justify="space-between" align="flex-start" mb="lg">
      <Stack gap={4}>
        <Title order={1} size="h2" ref={heading} tabIndex={-1}>
          {title}
        </Title>
        {about !== undefined && (
          <Text c="dimmed" maw={640}>
            {about}
          </Text>
        )}
      </Stack>
      {actions}
    </Group>
  );
}
