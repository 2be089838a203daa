import { Stack, Text } from "@mantine/core"
import type { ReactNode } from "react"
import styles from "./parts.module.css"

/** Something that was said in a conversation. */
export interface Saying {
  readonly id: string
  readonly isOurs: boolean
  readonly text: string
  /** When, and what became of it. */
  readonly beneath: ReactNode
}

/** What was said between the company and somebody, the oldest first; the company's own at the right. */
export function Conversation({
  label,
  sayings,
}: {
  readonly label: string
  readonly sayings: readonly Saying[]
}) {
  return (
    <Stack component="ol" className={styles.conversation} gap="sm" aria-label={label}>
      {sayings.map(({ id, isOurs, text, beneath }) => (
        <li key={id} className={isOurs ? styles.ours : styles.theirs}>
          <div className={styles.saying}>{text}</div>
          <Text size="xs" c="dimmed" component="div">
            {beneath}
          </Text>
        </li>
      ))}
    </Stack>
  )
}
