import { useNavigate, useSearch } from "@tanstack/react-router"

/** What a page is narrowed to, as the address has it. */
export type Filters = Readonly<Record<string, string | undefined>>

/** The filters in the address, and how they are changed. A changed filter begins at the first page. */
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
    const kept = Object.entries(next).filter(([, value]) => value !== undefined && value !== "")
    void navigate({ to: ".", search: Object.fromEntries(kept) })
  }
  return [filters, change]
}
