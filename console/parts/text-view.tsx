import { Box, Button, Group, Stack, Text } from "@mantine/core"
import { saveFile } from "../api/operations.ts"
import { CopyIconButton } from "./id.tsx"
import styles from "./parts.module.css"

interface TextViewProps {
  /** Title of the text, also for screen readers. */
  readonly title: string
  readonly text: string
  /** Whether it is a log, whose end is shown first. */
  readonly isLog?: boolean
  /** File name for saving; without it the text cannot be saved. */
  readonly fileName?: string
}

/** A machine-written text, such as a log, a command or JSON, with a copy button. */
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
        role="region"
        aria-label={title}
        tabIndex={0}
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
