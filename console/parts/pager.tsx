import { Button, Group, Text } from "@mantine/core"
import { useFilters } from "./filters.ts"

interface PagerProps {
  /** So many are shown. */
  readonly count: number
  /** Where the next page begins; null for the last one. */
  readonly next: string | number | null
  readonly isOldestFirst?: boolean
}

const NEWEST_FIRST = {
  ...{ first: "Newest", next: "Earlier" },
  ...{ onFirst: "The newest", onOthers: "Earlier ones" },
}
const OLDEST_FIRST = {
  ...{ first: "Oldest", next: "Later" },
  ...{ onFirst: "The oldest", onOthers: "Later ones" },
}

/** Pages of a list, by the cursor in the address; nothing where there is but one. */
export function Pager({ count, next, isOldestFirst = false }: PagerProps) {
  const [{ before }, setFilters] = useFilters()
  const isFirst = before === undefined
  const words = isOldestFirst ? OLDEST_FIRST : NEWEST_FIRST
  if (isFirst && next === null) return null
  return (
    <Group justify="space-between">
      <Text size="sm" c="dimmed">
        {isFirst ? words.onFirst : words.onOthers}: {count}
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
