import { Button, Group, Popover, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";

/** A button for an irreversible action: it explains the effect and asks for confirmation. */
export function ConfirmButton({
  label,
  ariaLabel,
  question,
  onConfirm,
  loading = false,
}: {
  readonly label: string;
  readonly ariaLabel?: string;
  readonly question: string;
  readonly onConfirm: () => void;
  readonly loading?: boolean;
}) {
  const [isOpen, { toggle, close }] = useDisclosure();
  return (
    <Popover opened={isOpen} onClose={close} width={260} trapFocus returnFocus withArrow>
      <Popover.Target>
        <Button
          size="compact-sm"
          color="red"
          variant="outline"
          onClick={toggle}
          loading={loading}
          aria-label={ariaLabel}
        >
          {label}
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label={question}>
        <Stack gap="xs">
          <Text size="sm">{question}</Text>
          <Group justify="flex-end" gap="xs">
            <Button size="compact-sm" variant="default" onClick={close}>
              No
            </Button>
            <Button
              size="compact-sm"
              color="red"
              onClick={() => {
                close();
                onConfirm();
              }}
            >
              {label}
            </Button>
          </Group>
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}
