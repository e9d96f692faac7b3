import { Avatar } from "@mantine/core";

/** What stands for a logo: the initials of a name. */
export function Initials({ name, size = "md" }: { readonly name: string; readonly size?: "sm" | "md" | "lg" }) {
  return <Avatar name={name} color="cyan" variant="filled" size={size} radius="md" aria-hidden />;
}
