import { Button, Code, CopyButton, Stack } from "@mantine/core"
import { saveFile } from "../api/operations.ts"
import styles from "./parts.module.css"

interface CodeBlockProps {
  readonly text: string
  /** Where it can be saved as a file: under which name. */
  readonly fileName?: string
}

/** A text of several lines that is copied whole. */
export function CodeBlock({ text, fileName }: CodeBlockProps) {
  return (
    <Stack gap="xs" align="flex-start">
      <Code block className={styles.block} tabIndex={0}>
        {text}
      </Code>
      <Button.Group>
        <CopyButton value={text}>
          {({ copied, copy }) => (
            <Button variant="default" size="xs" onClick={copy}>
              {copied ? "Copied" : "Copy"}
            </Button>
          )}
        </CopyButton>
        {fileName === undefined ? null : (
          <Button
            variant="default"
            size="xs"
            onClick={() => saveFile(new Blob([text], { type: "text/plain" }), fileName)}
          >
            Save as a file
          </Button>
        )}
      </Button.Group>
    </Stack>
  )
}
