import { Anchor } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { EmptyState } from "../parts/empty-state.tsx";

/** The page for unknown addresses. */
export function NotFound() {
  return (
    <EmptyState
      title="There is nothing here"
      action={
        <Anchor component={Link} to="/connections">
          To the connections
        </Anchor>
      }
    >
      The address is wrong, or what it named is gone.
    </EmptyState>
  );
}
