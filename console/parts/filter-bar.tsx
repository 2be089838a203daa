import { Button, Group, Select } from "@mantine/core"
import { useFilters } from "./filters.ts"

export interface Filter {
  /** Name of the parameter in the address. */
  readonly name: string
  readonly label: string
  readonly options: readonly (readonly [string, string])[]
}

/** Filters the list below; the address has the chosen values. */
export function FilterBar({ filters: offered }: { readonly filters: readonly Filter[] }) {
  const [filters, setFilters] = useFilters()
  const isFiltered = offered.some(({ name }) => filters[name] !== undefined)
  return (
    <Group gap="xs" role="search" aria-label="Filter the list">
      {offered.map(({ name, label, options }) => (
        <Select
          key={name}
          aria-label={label}
          placeholder={label}
          size="xs"
          w={{ base: "47%", sm: 170 }}
          clearable
          searchable={options.length > 8}
          clearButtonProps={{ "aria-label": `Any ${label.toLowerCase()}` }}
          data={selectOptions(options, filters[name])}
          value={filters[name] ?? null}
          onChange={(value) => setFilters({ [name]: value ?? undefined })}
        />
      ))}
      {isFiltered ? (
        <Button
          variant="subtle"
          size="xs"
          onClick={() =>
            setFilters(Object.fromEntries(offered.map(({ name }) => [name, undefined])))
          }
        >
          Show all
        </Button>
      ) : null}
    </Group>
  )
}

/** A filter that only links set, such as a request id; people can remove it. */
export function linkedFilter(name: string, label: string, chosen: string | undefined): Filter[] {
  return chosen === undefined ? [] : [{ name, label, options: [[chosen, chosen]] }]
}

/** Options with the value of the address, even if it is unknown. */
function selectOptions(options: Filter["options"], chosen: string | undefined) {
  const known = options.map(([value, label]) => ({ value, label }))
  return chosen === undefined || options.some(([value]) => value === chosen)
    ? known
    : [...known, { value: chosen, label: chosen }]
}

/** The months up to a time (ms), newest first, as options of a filter. */
export function monthOptions(nowMs: number, count = 12): Filter["options"] {
  const now = new Date(nowMs)
  const words = new Intl.DateTimeFormat("en", { year: "numeric", month: "long", timeZone: "UTC" })
  return Array.from({ length: count }, (_, back) => {
    const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 1))
    return [month.toISOString().slice(0, 7), words.format(month)] as const
  })
}
