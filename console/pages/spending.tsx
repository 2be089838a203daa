import { Button } from "@mantine/core"
import type { Charge, ChargeList, PriceList } from "../api/answers.ts"
import { itemText, useNames } from "../api/names.ts"
import { useAnswer, useCommand, useOperation } from "../api/operations.ts"
import { useMe } from "../api/session.ts"
import { ChargeState } from "../parts/charge-state.tsx"
import { CopyAs } from "../parts/copy-as.tsx"
import type { Column } from "../parts/data-table.tsx"
import { DataTable } from "../parts/data-table.tsx"
import { Empty } from "../parts/empty.tsx"
import { useNow } from "../parts/now.ts"
import { FilterBar, monthOptions } from "../parts/filter-bar.tsx"
import type { Filters } from "../parts/filters.ts"
import { useFilters } from "../parts/filters.ts"
import { Loaded } from "../parts/loaded.tsx"
import { Money, decimalsOf } from "../parts/money.tsx"
import { Page } from "../parts/page.tsx"
import { saveCsv } from "../parts/save-csv.ts"
import { Time } from "../parts/time.tsx"

const PAGE = 50

/** Charges, newest first. */
export default function Spending() {
  const [filters] = useFilters()
  const input = inputOf(filters)
  const list = useAnswer<ChargeList>("charge-list", input)
  const operation = useOperation("charge-list")
  const commandOf = useCommand()
  return (
    <Page
      title="Spending"
      says="Each charge was checked against the funds and every limit in the moment it was recorded."
      actions={
        <>
          {operation === null ? null : <CopyAs command={commandOf(operation, input)} />}
          <SaveList charges={list.data?.charges ?? []} />
        </>
      }
    >
      <Narrow />
      <Loaded of={list} lines={8}>
        {({ charges, next }) => <Charges charges={charges} next={next} />}
      </Loaded>
    </Page>
  )
}

function inputOf({ month, key, person, item, before }: Filters) {
  return {
    month,
    key,
    person,
    item,
    before: before === undefined ? undefined : Number(before),
    limit: PAGE,
  }
}

function Narrow() {
  const { people, keys } = useNames()
  const prices = useAnswer<PriceList>("price-list").data?.prices ?? []
  const items = prices.map(({ item }) => [item, itemText(item)] as const)
  return (
    <FilterBar
      filters={[
        { name: "month", label: "Month", options: monthOptions(useNow()) },
        { name: "item", label: "Item", options: items },
        { name: "person", label: "Person", options: people },
        { name: "key", label: "Key", options: keys },
      ]}
    />
  )
}

function Charges({ charges, next }: ChargeList) {
  const { person, key } = useNames()
  const decimals = decimalsOf(charges.map(({ amountMicros }) => amountMicros))
  const columns: readonly Column<Charge>[] = [
    { title: "When", cell: ({ at }) => <Time at={at} /> },
    { title: "Item", cell: ({ item }) => itemText(item) },
    { title: "Quantity", isNumber: true, isWide: true, cell: ({ quantity }) => quantity },
    { title: "Person", isWide: true, cell: ({ personId }) => person(personId) },
    { title: "Key", isWide: true, cell: ({ keyId }) => key(keyId) },
    { title: "State", isWide: true, cell: ({ state }) => <ChargeState state={state} /> },
    {
      ...{ title: "Amount", isNumber: true },
      cell: ({ amountMicros }) => <Money micros={amountMicros} decimals={decimals} />,
    },
  ]
  return (
    <DataTable
      {...{ label: "Charges", columns, rows: charges, next }}
      rowKey={({ revision }) => String(revision)}
      place={({ chargeId }) => ({ to: `spending/${chargeId}` })}
      empty={
        <Empty
          title="No charges here"
          says="What calls of the API and your people spend is listed here as it is spent. Send a text, for one:"
          command="company-ledger charge --company NAME --class general --dollars 0.42 --item test"
        />
      }
    />
  )
}

function SaveList({ charges }: { readonly charges: readonly Charge[] }) {
  const { companyId } = useMe()
  return (
    <Button
      variant="default"
      onClick={() => saveCsv(`spending-${companyId}.csv`, charges)}
      disabled={charges.length === 0}
    >
      Save as CSV
    </Button>
  )
}
