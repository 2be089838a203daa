import { useNavigate, useSearch } from "@tanstack/react-router"

/** The filters of a page, as in its address. */
export type Filters = Readonly<Record<string, string | undefined>>

/** The filters in the address, and a function that changes them; a change goes to the first page. */
export function useFilters(): readonly [Filters, (changed: Filters) => void] {
  const search: Record<string, unknown> = useSearch({ strict: false })
  const navigate = useNavigate()
  const filters = Object.fromEntries(
    Object.entries(search).map(([name, value]) => [
      name,
      value === undefined ? value : String(value),
    ]),
  )
  const change = (changed: Filters): void => {
    const next = { ...filters, before: undefined, after: undefined, ...changed }
    const set = Object.entries(next).filter(([, value]) => value !== undefined && value !== "")
    void navigate({ to: ".", search: Object.fromEntries(set) })
  }
  return [filters, change]
}
