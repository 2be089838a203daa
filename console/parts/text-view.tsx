import { Box, Button, Group, Stack, Text } from "@mantine/core"
import { saveFile } from "../api/operations.ts"
import { CopyIconButton } from "./id.tsx"
import styles from "./parts.module.css"

interface TextViewProps {
  /** What it is: above it, and for whoever hears the page. */
  readonly title: string
  readonly text: string
  /** Of a long one the end is what matters, as of a log. */
  readonly isLog?: boolean
  /** Where it can be saved as a file: under which name. */
  readonly fileName?: string
}

/** A text as machines write it, such as a log, a command or JSON: as it stands, and copied whole. */
export function TextView({ title, text, isLog = false, fileName }: TextViewProps) {
  return (
    <Stack gap={4} miw={0}>
      <Group justify="space-between" gap="xs">
        <Text size="sm" c="dimmed">
          {title}
        </Text>
        <CopyIconButton text={text} what={title} />
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
      {fileName === undefined ? null : (
        <Group>
          <Button
            variant="default"
            size="xs"
            onClick={() => saveFile(new Blob([text], { type: "text/plain" }), fileName)}
          >
            Save as a file
          </Button>
        </Group>
      )}
    </Stack>
  )
}
