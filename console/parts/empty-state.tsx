import { Code, Stack, Text } from "@mantine/core"
import type { ReactNode } from "react"
import styles from "./parts.module.css"

interface EmptyProps {
  readonly title: string
  /** What would be here. */
  readonly description: ReactNode
  /** The call or command that makes one. */
  readonly command?: string
  readonly children?: ReactNode
}

/** Nothing is here yet: what would be, and how one is made. */
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
