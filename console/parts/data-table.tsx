import { Stack, Table, UnstyledButton } from "@mantine/core"
import type { KeyboardEvent, ReactNode } from "react"
import { useFilters } from "./filters.ts"
import { RowLink } from "./link.tsx"
import type { LinkTarget } from "./link.tsx"
import type { PageOrder } from "./pager.tsx"
import { Pager } from "./pager.tsx"
import styles from "./parts.module.css"

export interface TableColumn<Row> {
  readonly title: string
  readonly cell: (row: Row) => ReactNode
  /** Numbers are aligned right. */
  readonly isNumber?: boolean
  readonly isHiddenOnNarrow?: boolean
  /** Sort key; only complete lists can be sorted. */
  readonly sortBy?: (row: Row) => string | number
}

interface DataTableProps<Row> {
  /** Name of the list, for screen readers. */
  readonly label: string
  readonly columns: readonly TableColumn<Row>[]
  readonly rows: readonly Row[]
  readonly rowKey: (row: Row) => string
  /** Page of a row; the first column links to it. */
  readonly place?: (row: Row) => LinkTarget
  /** Cursor of the next page; null on the last page, undefined if the list is complete. */
  readonly next?: string | number | null
  /** Direction of the pages; newest first by default. */
  readonly order?: PageOrder
  readonly empty: ReactNode
}

/** A list with a link per row, arrow keys, and pages by the cursor in the address. */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const { label, columns, rowKey, place, next, order = "before", empty } = props
  const [filters, setFilters] = useFilters()
  const isComplete = next === undefined
  const rows = isComplete ? sorted(props.rows, columns, filters["sort"]) : props.rows
  const isFirst = filters[order] === undefined
  if (rows.length === 0 && isFirst) return <>{empty}</>
  return (
    <Stack gap="sm">
      <Table.ScrollContainer
        minWidth={0}
        type="native"
        tabIndex={0}
        role="region"
        aria-label={label}
      >
        <Table className={styles.table} verticalSpacing={7} highlightOnHover={place !== undefined}>
          <Table.Thead>
            <Table.Tr>
              {columns.map((column) => (
                <Head
                  key={column.title}
                  column={column}
                  sort={filters["sort"]}
                  onSort={isComplete ? (sort) => setFilters({ sort }) : null}
                />
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody onKeyDown={moveFocus}>
            {rows.map((row) => (
              <Table.Tr key={rowKey(row)} className={styles.row}>
                {columns.map((column, at) => (
                  <Table.Td key={column.title} {...cellProps(column)}>
                    {at === 0 && place !== undefined ? (
                      <RowLink {...place(row)}>{column.cell(row)}</RowLink>
                    ) : (
                      column.cell(row)
                    )}
                  </Table.Td>
                ))}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      {isComplete ? null : <Pager count={rows.length} next={next} order={order} />}
    </Stack>
  )
}

function cellProps({
  isNumber,
  isHiddenOnNarrow,
}: Pick<TableColumn<never>, "isNumber" | "isHiddenOnNarrow">) {
  const right = isNumber === true ? { ta: "right" as const } : {}
  return isHiddenOnNarrow === true ? { ...right, visibleFrom: "sm" as const } : right
}

interface HeadProps<Row> {
  readonly column: TableColumn<Row>
  readonly sort: string | undefined
  readonly onSort: ((sort: string) => void) | null
}

function Head<Row>({ column, sort, onSort }: HeadProps<Row>) {
  const { title, sortBy } = column
  if (onSort === null || sortBy === undefined)
    return <Table.Th {...cellProps(column)}>{title}</Table.Th>
  const isDown = sort === `-${title}`
  const order = sort === title ? "ascending" : isDown ? "descending" : "none"
  return (
    <Table.Th {...cellProps(column)} aria-sort={order}>
      <UnstyledButton fz="inherit" onClick={() => onSort(sort === title ? `-${title}` : title)}>
        {title} {order === "none" ? "" : isDown ? "↓" : "↑"}
      </UnstyledButton>
    </Table.Th>
  )
}

function sorted<Row>(
  rows: readonly Row[],
  columns: readonly TableColumn<Row>[],
  sort: string | undefined,
): readonly Row[] {
  const by = columns.find(({ title }) => title === sort?.replace(/^-/, ""))?.sortBy
  if (by === undefined) return rows
  const sign = sort?.startsWith("-") === true ? -1 : 1
  return rows.toSorted((a, b) => (by(a) < by(b) ? -sign : by(a) > by(b) ? sign : 0))
}

/** Moves the focus between rows with the arrow keys. */
function moveFocus(event: KeyboardEvent<HTMLElement>): void {
  const step = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1 }[event.key]
  if (step === undefined || event.target instanceof HTMLInputElement) return
  const links = [...event.currentTarget.querySelectorAll<HTMLElement>("[data-row]")]
  const here = links.findIndex((link) => link.closest("tr")?.contains(event.target as Node))
  links[here + step]?.focus()
  event.preventDefault()
}
