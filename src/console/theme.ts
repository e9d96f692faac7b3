import { createTheme } from "@mantine/core";

/** The look: one accent colour, dark enough for white text on it (WCAG 2.2 AA), and system fonts that need no download. */
export const theme = createTheme({
  primaryColor: "cyan",
  primaryShade: 9,
  defaultRadius: "md",
  cursorType: "pointer",
  respectReducedMotion: true,
  fontFamily: "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",
  fontFamilyMonospace: "ui-monospace, 'SF Mono', Menlo, Consolas, monospace",
  components: {
    // The head of a dialog is no banner of the page.
    DrawerHeader: { defaultProps: { role: "none" } },
    ModalHeader: { defaultProps: { role: "none" } },
    Badge: { defaultProps: { tt: "none", fw: 500 } },
  },
});
