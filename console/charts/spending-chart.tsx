import { BarChart } from "@mantine/charts"
import "@mantine/charts/styles.css"
import { Group, Stack, Switch } from "@mantine/core"
import { useHotkeys } from "@mantine/hooks"
import { useState } from "react"
import type { ChargeDay } from "../api/answers.ts"
import { DataTable } from "../parts/data-table.tsx"
import { useNow } from "../parts/use-now.ts"
import { Money, dollarsText } from "../parts/money.tsx"
import type { DayRow } from "./spending-by-day.ts"
import { spendingByDay } from "./spending-by-day.ts"

const COLORS = ["indigo.6", "teal.6", "orange.5", "grape.5", "cyan.6", "pink.5", "gray.5"]
const MICROS = 1_000_000

/** Spending by day and item, as stacked bars or a table. */
export default function SpendingChart({ spent }: { readonly spent: readonly ChargeDay[] }) {
  const [isTable, setTable] = useState(false)
  useHotkeys([["t", () => setTable((was) => !was)]])
  const { items, days } = spendingByDay(spent, new Date(useNow()))
  return (
    <Stack gap="sm">
      {isTable ? (
        <SpendingTable items={items} days={days} />
      ) : (
        <BarChart
          h={300}
          data={[...days]}
          dataKey="day"
          type="stacked"
          withLegend
          // In stacking order; the chart would sort by name.
          legendProps={{ verticalAlign: "bottom", itemSorter: null }}
          tickLine="none"
          gridAxis="x"
          strokeDasharray="0"
          maxBarWidth={28}
          barProps={{ isAnimationActive: false }}
          series={items.map((name, at) => ({ name, color: COLORS[at] ?? "gray.5" }))}
          valueFormatter={(dollars) => dollarsText(dollars * MICROS)}
          yAxisProps={{ width: 64 }}
        />
      )}
      <Group justify="flex-end">
        <Switch
          size="xs"
          label="Show the numbers (T)"
          checked={isTable}
          onChange={(event) => setTable(event.currentTarget.checked)}
        />
      </Group>
    </Stack>
  )
}

function SpendingTable({
  items,
  days,
}: {
  readonly items: readonly string[]
  readonly days: readonly DayRow[]
}) {
  return (
    <DataTable
      label="Spent by day"
      rows={days}
      rowKey={({ day }) => String(day)}
      columns={[
        { title: "Day", cell: ({ day }) => day },
        ...items.map((item) => ({
          title: item,
          isNumber: true,
          cell: (row: DayRow) => (
            <Money micros={Math.round(Number(row[item]) * MICROS)} decimals={2} />
          ),
        })),
      ]}
      empty={null}
    />
  )
}
