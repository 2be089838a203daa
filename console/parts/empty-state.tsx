import { Code, Stack, Text } from "@mantine/core"
import type { ReactNode } from "react"
import styles from "./parts.module.css"

interface EmptyProps {
  readonly title: string
  /** What the list would show. */
  readonly description: ReactNode
  /** The call or command that creates the first item. */
  readonly command?: string
  readonly children?: ReactNode
}

/** The state of an empty list: what it would show, and how to create an item. */
export function EmptyState({ title, description, command, children }: EmptyProps) {
  return (
    <Stack className={styles.empty} gap="xs" align="center">
      <Text fw={500}>{title}</Text>
      <Text size="sm" c="dimmed" maw={520}>
        {description}
      </Text>
      {command === undefined ? null : <Code className={styles.code}>{command}</Code>}
      {children}
    </Stack>
  )
}
