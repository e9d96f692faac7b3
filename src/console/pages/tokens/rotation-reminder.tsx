import { Badge } from "@mantine/core";

/** The age at which a secret should be replaced: 90 days. */
const ROTATE_AFTER_MS = 90 * 86_400_000;

function isDue(since: string): boolean {
  return Date.now() - new Date(since).getTime() > ROTATE_AFTER_MS;
}

/** Reminds of a secret that should be replaced. */
export function RotationReminder({ since }: { readonly since: string }) {
  if (!isDue(since)) return undefined;
  return (
    <Badge size="sm" variant="dot" color="orange">
      Older than 90 days
    </Badge>
  );
}
