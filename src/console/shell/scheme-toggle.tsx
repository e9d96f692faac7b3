import { Button, useComputedColorScheme, useMantineColorScheme } from "@mantine/core";

/** Between light and dark; until it is used, the reader's system decides. */
export function SchemeToggle() {
  const { setColorScheme } = useMantineColorScheme();
  const other = useComputedColorScheme("light") === "light" ? "dark" : "light";
  return (
    <Button
      variant="default"
      size="xs"
      onClick={() => {
        setColorScheme(other);
      }}
    >
      {other === "dark" ? "Dark" : "Light"}
    </Button>
  );
}
