import { Avatar } from "@mantine/core";

/** The initials of a name, in place of a logo. */
export function Initials({ name, size = "md" }: { readonly name: string; readonly size?: "sm" | "md" | "lg" }) {
  return <Avatar name={name} color="cyan" variant="filled" size={size} radius="md" aria-hidden />;
}
