import { Stack, Text } from "@mantine/core"
import type { ReactNode } from "react"
import styles from "./parts.module.css"

export interface ThreadMessage {
  readonly id: string
  readonly isOurs: boolean
  readonly text: string
  readonly footer: ReactNode
}

/** The messages between the company and another party, oldest first; the company's own at the right. */
export function MessageThread({
  label,
  sayings,
}: {
  readonly label: string
  readonly sayings: readonly ThreadMessage[]
}) {
  return (
    <Stack component="ol" className={styles.conversation} gap="sm" aria-label={label}>
      {sayings.map(({ id, isOurs, text, footer }) => (
        <li key={id} className={isOurs ? styles.ours : styles.theirs}>
          <div className={styles.saying}>{text}</div>
          <Text size="xs" c="dimmed" component="div">
            {footer}
          </Text>
        </li>
      ))}
    </Stack>
  )
}
