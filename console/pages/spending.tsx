import { Button, Group } from "@mantine/core"
import { useState } from "react"
import type { Charge, ChargeDays, ChargeList, PriceList } from "../api/answers.ts"
import { itemText, useNames } from "../api/names.ts"
import { operate, useAnswer, useCommand, useOperation } from "../api/operations.ts"
import { useMe } from "../api/session.ts"
import { ChargeState } from "../parts/charge-state.tsx"
import { CopyAs } from "../parts/copy-as.tsx"
import type { Column } from "../parts/data-table.tsx"
import { DataTable } from "../parts/data-table.tsx"
import { Empty } from "../parts/empty.tsx"
import { Fault } from "../parts/fault.tsx"
import { useNow } from "../parts/now.ts"
import { FilterBar, monthOptions } from "../parts/filter-bar.tsx"
import type { Filters } from "../parts/filters.ts"
import { useFilters } from "../parts/filters.ts"
import { Loaded } from "../parts/loaded.tsx"
import { Money, decimalsOf } from "../parts/money.tsx"
import { Page } from "../parts/page.tsx"
import { saveCsv } from "../parts/save-csv.ts"
import { SearchBox } from "../parts/search-box.tsx"
import { useShellCommand } from "../parts/shell-command.ts"
import { useAct } from "../parts/use-act.ts"
import { Time } from "../parts/time.tsx"

const PAGE = 50
/** As many as the operation lists at a time. */
const MOST_AT_ONCE = 1_000

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
          <SaveList isEmpty={list.data?.charges.length === 0} />
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

function inputOf({ month, key, person, item, resource, before }: Filters) {
  return {
    month,
    key,
    person,
    item,
    resource,
    before: before === undefined ? undefined : Number(before),
    limit: PAGE,
  }
}

function Narrow() {
  const { people, keys } = useNames()
  const [{ month }] = useFilters()
  const prices = useAnswer<PriceList>("price-list").data?.prices ?? []
  const days = useAnswer<ChargeDays>("charge-days", { month }).data?.days ?? []
  // What programs charge under names of their own stands in no price list.
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
      <SearchBox name="resource" label="Id of what was paid for" />
    </Group>
  )
}

function Charges({ charges, next }: ChargeList) {
  const { person, key } = useNames()
  const commandFor = useShellCommand()
  const decimals = decimalsOf(charges.map(({ amountMicros }) => amountMicros))
  const columns: readonly Column<Charge>[] = [
    { title: "When", cell: ({ at }) => <Time at={at} /> },
    { title: "Item", cell: ({ item }) => itemText(item) },
    { title: "Quantity", isNumber: true, isWide: true, cell: ({ quantity }) => quantity },
    { title: "Person", isWide: true, cell: ({ personId }) => person(personId) },
    { title: "Key", isWide: true, cell: ({ keyId }) => key(keyId) },
    { title: "State", isWide: true, cell: ({ state }) => <ChargeState state={state} /> },
    {
      title: "Amount",
      isNumber: true,
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
          says="What calls of the API and your people spend is listed here as it is spent. A program of your own may charge too:"
          command={commandFor("charge", "--class general --dollars 0.42 --item test")}
        />
      }
    />
  )
}

/** Saves all that the filters let through, however many pages it has. */
function SaveList({ isEmpty }: { readonly isEmpty: boolean }) {
  const { companyId } = useMe()
  const [filters] = useFilters()
  const [count, setCount] = useState(0)
  const { act, isBusy, error } = useAct(async () => {
    const charges: Charge[] = []
    let before: number | null | undefined
    do {
      const input = { ...inputOf(filters), before, limit: MOST_AT_ONCE }
      const page = await operate<ChargeList>(companyId, "charge-list", input)
      charges.push(...page.charges)
      setCount(charges.length)
      before = page.next
    } while (before !== null)
    saveCsv(`spending-${companyId}.csv`, charges)
  })
  return (
    <>
      {error === null ? null : <Fault error={error} />}
      <Button variant="default" onClick={() => void act()} disabled={isEmpty || isBusy}>
        {isBusy ? `${count.toLocaleString("en-US")} charges …` : "Save as CSV"}
      </Button>
    </>
  )
}
