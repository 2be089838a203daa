import { Button, Group, Text } from "@mantine/core"
import { useFilters } from "./filters.ts"

interface PagerProps {
  /** So many are shown. */
  readonly count: number
  /** Where the next page begins; null for the last one. */
  readonly next: string | number | null
}

/** Pages of a list, by the cursor in the address; nothing where there is but one. */
export function Pager({ count, next }: PagerProps) {
  const [{ before }, setFilters] = useFilters()
  const isFirst = before === undefined
  if (isFirst && next === null) return null
  return (
    <Group justify="space-between">
      <Text size="sm" c="dimmed">
        {isFirst ? "The newest" : "Earlier ones"}: {count}
      </Text>
      <Group gap="xs">
        <Button
          variant="default"
          size="xs"
          disabled={isFirst}
          onClick={() => setFilters({ before: undefined })}
        >
          Newest
        </Button>
        <Button
          variant="default"
          size="xs"
          disabled={next === null}
          onClick={() => setFilters({ before: String(next) })}
        >
          Earlier
        </Button>
      </Group>
    </Group>
  )
}
