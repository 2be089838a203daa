import { Button, Group } from "@mantine/core"
import { useState } from "react"
import type { Charge, ChargeDays, ChargeList, PriceList } from "../api/answers.ts"
import { itemText, useNames } from "../api/names.ts"
import { callOperation, useOperationQuery, useCommand, useOperation } from "../api/operations.ts"
import { useMe } from "../api/session.ts"
import { ChargeStateBadge } from "../parts/charge-state.tsx"
import { CopyCommandButton } from "../parts/copy-command.tsx"
import type { TableColumn } from "../parts/data-table.tsx"
import { DataTable } from "../parts/data-table.tsx"
import { EmptyState } from "../parts/empty-state.tsx"
import { ErrorAlert } from "../parts/error-alert.tsx"
import { useNow } from "../parts/use-now.ts"
import { FilterBar, monthOptions } from "../parts/filter-bar.tsx"
import type { Filters } from "../parts/filters.ts"
import { useFilters } from "../parts/filters.ts"
import { QueryView } from "../parts/query-view.tsx"
import { Money, decimalsOf } from "../parts/money.tsx"
import { PageLayout } from "../parts/page-layout.tsx"
import { saveCsv } from "../parts/save-csv.ts"
import { SearchBox } from "../parts/search-box.tsx"
import { useShellCommand } from "../parts/shell-command.ts"
import { useAsyncAction } from "../parts/use-async-action.ts"
import { Time } from "../parts/time.tsx"

const PAGE_ROWS = 50
/** Maximum of the operation. */
const MAX_PER_REQUEST = 1_000

/** Charges, newest first. */
export default function SpendingPage() {
  const [filters] = useFilters()
  const input = inputOf(filters)
  const list = useOperationQuery<ChargeList>("charge-list", input)
  const operation = useOperation("charge-list")
  const commandOf = useCommand()
  return (
    <PageLayout
      title="Spending"
      description="Each charge was checked against the funds and all limits when it was recorded."
      actions={
        <>
          {operation === null ? null : <CopyCommandButton command={commandOf(operation, input)} />}
          <SaveList isEmpty={list.data?.charges.length === 0} />
        </>
      }
    >
      <SpendingFilters />
      <QueryView query={list} lines={8}>
        {({ charges, next }) => <Charges charges={charges} next={next} />}
      </QueryView>
    </PageLayout>
  )
}

function inputOf({ month, key, person, item, resource, before }: Filters) {
  return {
    month,
    key,
    person,
    item,
    resource,
    before: before === undefined ? undefined : Number(before),
    limit: PAGE_ROWS,
  }
}

function SpendingFilters() {
  const { people, keys } = useNames()
  const [{ month }] = useFilters()
  const prices = useOperationQuery<PriceList>("price-list").data?.prices ?? []
  const days = useOperationQuery<ChargeDays>("charge-days", { month }).data?.days ?? []
  // Programs may charge items that are not in the price list.
  const items = [...new Set([...days, ...prices].map(({ item }) => item))].map(
    (item) => [item, itemText(item)] as const,
  )
  return (
    <Group gap="xs">
      <FilterBar
        filters={[
          { name: "month", label: "Month", options: monthOptions(useNow()) },
          { name: "item", label: "Item", options: items },
          { name: "person", label: "Person", options: people },
          { name: "key", label: "Key", options: keys },
        ]}
      />
      <SearchBox name="resource" label="Resource id" />
    </Group>
  )
}

function Charges({ charges, next }: ChargeList) {
  const { person, key } = useNames()
  const commandFor = useShellCommand()
  const decimals = decimalsOf(charges.map(({ amountMicros }) => amountMicros))
  const columns: readonly TableColumn<Charge>[] = [
    { title: "When", cell: ({ at }) => <Time at={at} /> },
    { title: "Item", cell: ({ item }) => itemText(item) },
    { title: "Quantity", isNumber: true, isHiddenOnNarrow: true, cell: ({ quantity }) => quantity },
    { title: "Person", isHiddenOnNarrow: true, cell: ({ personId }) => person(personId) },
    { title: "Key", isHiddenOnNarrow: true, cell: ({ keyId }) => key(keyId) },
    {
      title: "State",
      isHiddenOnNarrow: true,
      cell: ({ state }) => <ChargeStateBadge state={state} />,
    },
    {
      title: "Amount",
      isNumber: true,
      cell: ({ amountMicros }) => <Money micros={amountMicros} decimals={decimals} />,
    },
  ]
  return (
    <DataTable
      label="Charges"
      columns={columns}
      rows={charges}
      next={next}
      rowKey={({ revision }) => String(revision)}
      place={({ chargeId }) => ({ to: `spending/${chargeId}` })}
      empty={
        <EmptyState
          title="No charges"
          description="Charges of your people and API calls appear here. Your own programs can charge, too:"
          command={commandFor("charge", "--class general --dollars 0.42 --item test")}
        />
      }
    />
  )
}

/** Saves all filtered charges, from all pages. */
function SaveList({ isEmpty }: { readonly isEmpty: boolean }) {
  const { companyId } = useMe()
  const [filters] = useFilters()
  const [count, setCount] = useState(0)
  const { run, isBusy, error } = useAsyncAction(async () => {
    const charges: Charge[] = []
    let before: number | null | undefined
    do {
      const input = { ...inputOf(filters), before, limit: MAX_PER_REQUEST }
      const page = await callOperation<ChargeList>(companyId, "charge-list", input)
      charges.push(...page.charges)
      setCount(charges.length)
      before = page.next
    } while (before !== null)
    saveCsv(`spending-${companyId}.csv`, charges)
  })
  return (
    <>
      {error === null ? null : <ErrorAlert error={error} />}
      <Button variant="default" onClick={() => void run()} disabled={isEmpty || isBusy}>
        {isBusy ? `${count.toLocaleString("en-US")} charges …` : "Save as CSV"}
      </Button>
    </>
  )
}
