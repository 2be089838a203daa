import { Button, Group, Text } from "@mantine/core"
import { useFilters } from "./filters.ts"

interface PagerProps {
  readonly count: number
  /** Cursor of the next page; null on the last page. */
  readonly next: string | number | null
  readonly order?: PageOrder
}

/** `before` lists the newest first and continues before a cursor; `after` lists the oldest first. */
export type PageOrder = "before" | "after"

const WORDS = {
  before: { here: "Newest", beyond: "Earlier", first: "Newest", go: "Earlier" },
  after: { here: "Oldest", beyond: "Later", first: "Oldest", go: "Later" },
} as const

/** Buttons for the pages of a list; hidden if there is only one. */
export function Pager({ count, next, order = "before" }: PagerProps) {
  const [filters, setFilters] = useFilters()
  const words = WORDS[order]
  const isFirst = filters[order] === undefined
  if (isFirst && next === null) return null
  return (
    <Group justify="space-between">
      <Text size="sm" c="dimmed">
        {isFirst ? words.here : words.beyond}: {count}
      </Text>
      <Group gap="xs">
        <Button
          variant="default"
          size="xs"
          disabled={isFirst}
          onClick={() => setFilters({ [order]: undefined })}
        >
          {words.first}
        </Button>
        <Button
          variant="default"
          size="xs"
          disabled={next === null}
          onClick={() => setFilters({ [order]: String(next) })}
        >
          {words.go}
        </Button>
      </Group>
    </Group>
  )
}
