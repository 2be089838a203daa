import type { CSSVariablesResolver } from "@mantine/core"
import { createTheme } from "@mantine/core"

/** The theme: one accent color, the reader's typeface, small corners. */
export const theme = createTheme({
  primaryColor: "indigo",
  primaryShade: { light: 7, dark: 8 },
  autoContrast: true,
  fontFamily:
    'Inter, ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, "SF Mono", Menlo, Consolas, monospace',
  defaultRadius: "sm",
  cursorType: "pointer",
  // Follows the system's setting for reduced motion.
  respectReducedMotion: true,
  headings: {
    fontWeight: "600",
    sizes: { h1: { fontSize: "1.375rem" }, h2: { fontSize: "1rem" } },
  },
  components: {
    Notification: { defaultProps: { closeButtonProps: { "aria-label": "Close" } } },
    Button: { defaultProps: { size: "sm", fw: 500 } },
    TextInput: { defaultProps: { size: "sm" } },
    Modal: { defaultProps: { centered: true, overlayProps: { backgroundOpacity: 0.4 } } },
    Tooltip: { defaultProps: { withArrow: true, openDelay: 300 } },
  },
})

/** Text colors with more contrast than Mantine's. */
export const textColorVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    "--mantine-color-dimmed": "#596068",
    "--mantine-color-placeholder": "#6b727a",
    "--mantine-color-anchor": "var(--mantine-color-indigo-8)",
    "--mantine-color-error": "#c0262d",
    "--mantine-color-default-border": "#e3e6ea",
    // Text on a tint of its own color, also with the pointer on it.
    "--mantine-color-indigo-light-color": "#2c3f9e",
    "--mantine-color-blue-light-color": "#17508f",
    "--mantine-color-green-light-color": "#1b5e2a",
    "--mantine-color-yellow-light-color": "#6b4800",
    "--mantine-color-orange-light-color": "#8f3400",
    "--mantine-color-red-light-color": "#a11a21",
  },
  dark: {
    "--mantine-color-dimmed": "#a5abb3",
    "--mantine-color-placeholder": "#9299a2",
    "--mantine-color-anchor": "var(--mantine-color-indigo-3)",
    "--mantine-color-error": "#ff8b8b",
    "--mantine-color-body": "#16181c",
    "--mantine-color-default-border": "#2c3036",
    // Mantine's colors are nearly white: destructive actions would look like others.
    "--mantine-color-indigo-light-color": "var(--mantine-color-indigo-2)",
    "--mantine-color-red-light-color": "var(--mantine-color-red-3)",
  },
})
