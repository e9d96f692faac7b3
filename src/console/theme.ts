import { createTheme } from "@mantine/core";

/** The theme: one accent color, dark enough for white text (WCAG 2.2 AA), and system fonts that need no download. */
export const theme = createTheme({
  primaryColor: "cyan",
  primaryShade: 9,
  defaultRadius: "md",
  cursorType: "pointer",
  respectReducedMotion: true,
  fontFamily: "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",
  fontFamilyMonospace: "ui-monospace, 'SF Mono', Menlo, Consolas, monospace",
  components: {
    // The header of a dialog is not a banner of the page.
    DrawerHeader: { defaultProps: { role: "none" } },
    ModalHeader: { defaultProps: { role: "none" } },
    Badge: { defaultProps: { tt: "none", fw: 500 } },
  },
});
