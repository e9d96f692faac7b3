import { Skeleton, Stack, VisuallyHidden } from "@mantine/core";

/** Placeholder for rows that are loading. */
export function RowsSkeleton({ rows = 4 }: { readonly rows?: number }) {
  return (
    <Stack gap="sm" role="status">
      <VisuallyHidden>Loading</VisuallyHidden>
      {Array.from({ length: rows }, (_, at) => (
        <Skeleton key={at} height={44} />
      ))}
    </Stack>
  );
}

/** Placeholder for a page that is loading. */
export function PageSkeleton() {
  return (
    <Stack gap="lg">
      <VisuallyHidden component="h1">Loading</VisuallyHidden>
      <Skeleton height={34} width={240} />
      <RowsSkeleton />
    </Stack>
  );
}
