import { Box, Group, Stack, Text, Title } from "@mantine/core"
import { useEffect } from "react"
import type { ReactNode } from "react"
import styles from "./parts.module.css"

interface PageProps {
  readonly title: string
  /** One sentence about the page. */
  readonly description?: ReactNode
  /** Actions of the page, the most important last. */
  readonly actions?: ReactNode
  readonly children: ReactNode
}

/** A page with its title, description and actions. */
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

/** A section of a page. */
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

/** A figure with its label. */
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
