import { Button, Group, Text } from "@mantine/core"
import { useFilters } from "./filters.ts"

interface PagerProps {
  /** So many are shown. */
  readonly count: number
  /** Where the next page begins; null for the last one. */
  readonly next: string | number | null
  /** Which ones the first page has. */
  readonly order?: "newest" | "oldest"
}

const WORDS = {
  newest: { first: "Newest", next: "Earlier" },
  oldest: { first: "Oldest", next: "Later" },
} as const

/** Pages of a list, by the cursor in the address; nothing where there is but one. */
export function Pager({ count, next, order = "newest" }: PagerProps) {
  const [{ before }, setFilters] = useFilters()
  const isFirst = before === undefined
  const words = WORDS[order]
  if (isFirst && next === null) return null
  return (
    <Group justify="space-between">
      <Text size="sm" c="dimmed">
        {isFirst ? `The ${words.first.toLowerCase()}` : `${words.next} ones`}: {count}
      </Text>
      <Group gap="xs">
        <Button
          variant="default"
          size="xs"
          disabled={isFirst}
          onClick={() => setFilters({ before: undefined })}
        >
          {words.first}
        </Button>
        <Button
          variant="default"
          size="xs"
          disabled={next === null}
          onClick={() => setFilters({ before: String(next) })}
        >
          {words.next}
        </Button>
      </Group>
    </Group>
  )
}
