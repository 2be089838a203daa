import { Box, Group, Stack, Text } from "@mantine/core"
import { CopyIt } from "./id.tsx"
import styles from "./parts.module.css"

interface TextViewProps {
  /** What it is: above it, and for whoever hears the page. */
  readonly title: string
  readonly text: string
  /** Of a long one the end is what matters, as of a log. */
  readonly isLog?: boolean
}

/** A text as machines write it, such as a log, a command or JSON: as it stands, and copied whole. */
export function TextView({ title, text, isLog = false }: TextViewProps) {
  return (
    <Stack gap={4} miw={0}>
      <Group justify="space-between" gap="xs">
        <Text size="sm" c="dimmed">
          {title}
        </Text>
        <CopyIt text={text} what={title} />
      </Group>
      <Box
        component="pre"
        className={styles.text}
        {...{ role: "region", "aria-label": title, tabIndex: 0 }}
        ref={(shown: HTMLPreElement | null) => {
          if (isLog && shown !== null) shown.scrollTop = shown.scrollHeight
        }}
      >
        {text}
      </Box>
    </Stack>
  )
}
