import { Button, useComputedColorScheme, useMantineColorScheme } from "@mantine/core";

/** Switches between light and dark. The default is the system's setting. */
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
