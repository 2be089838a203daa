import { Box, Group, Stack, Text, Title } from "@mantine/core"
import { useEffect } from "react"
import type { ReactNode } from "react"
import styles from "./parts.module.css"

interface PageProps {
  readonly title: string
  /** One sentence: what is here. */
  readonly description?: ReactNode
  /** What can be done here; the most important one last. */
  readonly actions?: ReactNode
  readonly children: ReactNode
}

/** A page: its head, and what it shows. */
export function PageLayout({ title, description, actions, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Console`
  }, [title])
  return (
    <Box>
      <Group className={styles.head} justify="space-between" align="flex-start" gap="sm">
        <Stack gap={2}>
          <Title order={1}>{title}</Title>
          {description === undefined ? null : (
            <Text c="dimmed" size="sm">
              {description}
            </Text>
          )}
        </Stack>
        {actions === undefined ? null : <Group gap="xs">{actions}</Group>}
      </Group>
      <Stack gap="xl">{children}</Stack>
    </Box>
  )
}

interface SectionProps {
  readonly title: string
  readonly description?: ReactNode
  readonly actions?: ReactNode
  readonly children: ReactNode
}

/** A part of a page under a heading. */
export function Section({ title, description, actions, children }: SectionProps) {
  return (
    <Box component="section" aria-label={title} miw={0}>
      <Group justify="space-between" mb="sm" gap="xs" align="flex-end">
        <Stack gap={0}>
          <Title order={2}>{title}</Title>
          {description === undefined ? null : (
            <Text c="dimmed" size="sm">
              {description}
            </Text>
          )}
        </Stack>
        {actions === undefined ? null : <Group gap="xs">{actions}</Group>}
      </Group>
      {children}
    </Box>
  )
}

/** A number that matters, and what it is. */
export function KeyFigure({
  label,
  children,
  description,
}: {
  readonly label: string
  readonly children: ReactNode
  readonly description?: ReactNode
}) {
  return (
    <Stack gap={2} miw={0}>
      <Text size="sm" c="dimmed">
        {label}
      </Text>
      <Box className={styles.figure}>{children}</Box>
      {description === undefined ? null : (
        <Text size="sm" c="dimmed">
          {description}
        </Text>
      )}
    </Stack>
  )
}
