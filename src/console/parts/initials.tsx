import { Avatar } from "@mantine/core";

/** An integration's mark: its initials, in a colour that is always the same for the same name. */
export function Initials({ name, size = "md" }: { readonly name: string; readonly size?: "sm" | "md" | "lg" }) {
  return <Avatar name={name} color="initials" size={size} radius="md" aria-hidden />;
}
