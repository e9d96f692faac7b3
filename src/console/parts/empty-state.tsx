import { Paper, Stack, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";

/** Shown instead of an empty list: its purpose and the first step. */
export function EmptyState({
  title,
  children,
  action,
}: {
  readonly title: string;
  readonly children: ReactNode;
  readonly action?: ReactNode;
}) {
  return (
    <Paper withBorder p="xl">
      <Stack align="center" gap="sm">
        <Title order={2} size="h4" ta="center">
          {title}
        </Title>
        <Text c="dimmed" ta="center" maw={460}>
          {children}
        </Text>
        {action}
      </Stack>
    </Paper>
  );
}
