import { Button, Menu, Stack, Table, Text } from "@mantine/core"
import { useQuery } from "@tanstack/react-query"
import { useParams } from "@tanstack/react-router"
import { useState } from "react"
import type { Bill, BillList } from "../api/bills.ts"
import { BILL_DOWNLOAD_FORMATS, monthText } from "../api/bills.ts"
import type { Schema } from "../api/api-client.ts"
import { responseData, useApi } from "../api/api-client.ts"
import { itemText, useNames } from "../api/names.ts"
import { useOperationQuery, useCanRun } from "../api/operations.ts"
import { useMe } from "../api/session.ts"
import { BillStateBadge } from "../parts/bill-state.tsx"
import { CopyCommandButton, curlOf } from "../parts/copy-command.tsx"
import { countText } from "../parts/count.ts"
import type { TableColumn } from "../parts/data-table.tsx"
import { DataTable } from "../parts/data-table.tsx"
import { EmptyState } from "../parts/empty-state.tsx"
import { ErrorAlert } from "../parts/error-alert.tsx"
import { useFilters } from "../parts/filters.ts"
import { RowLink } from "../parts/link.tsx"
import { QueryView } from "../parts/query-view.tsx"
import { Money, decimalsOf } from "../parts/money.tsx"
import { PageLayout, Section } from "../parts/page-layout.tsx"
import { Time } from "../parts/time.tsx"
import { useDownload } from "../parts/use-download.ts"

/** Number of lines shown until the reader asks for all. */
const INITIAL_LINES = 100

/** A month's bill: statement, lines and downloads. */
export default function BillPage() {
  const { month = "" } = useParams({ strict: false })
  const list = useOperationQuery<BillList>("bill-list")
  return (
    <QueryView query={list}>
      {({ bills }) => {
        const found = bills.find((one) => one.month === month)
        return found === undefined ? (
          <EmptyState
            title="No bill for this month"
            description="Bills start in the month in which the company's account was opened."
          />
        ) : (
          <BillContent bill={found} />
        )
      }}
    </QueryView>
  )
}

function BillContent({ bill }: { readonly bill: Bill }) {
  const { month, state } = bill
  const { company, companyId } = useMe()
  const { isBusy, error, save } = useDownload()
  const name = `${company ?? companyId}-${month}`.replaceAll(/[^\w.-]+/g, "-")
  return (
    <PageLayout
      title={monthText(month)}
      description={
        <>
          <BillStateBadge state={state} />
          {state === "open" ? " · closes at the end of the month" : " · final"}
        </>
      }
      actions={
        <>
          <CopyCommandButton
            command={`company-ledger export billing --company '${company ?? companyId}' --month ${month} --format csv --out ${name}.csv`}
          />
          <Download
            isBusy={isBusy}
            onChoose={(format, ending) =>
              save("export-billing", { month, format }, `${name}.${ending}`)
            }
          />
        </>
      }
    >
      {error === null ? null : <ErrorAlert error={error} />}
      <Statement bill={bill} />
      <Section
        title="Lines"
        description="Oldest first. Spending is negative."
        actions={
          <CopyCommandButton what="curl" command={curlOf(`/api/v1/billing/lines?month=${month}`)} />
        }
      >
        <Lines month={month} />
      </Section>
    </PageLayout>
  )
}

interface DownloadProps {
  readonly isBusy: boolean
  readonly onChoose: (format: string, ending: string) => void
}

function Download({ isBusy, onChoose }: DownloadProps) {
  if (!useCanRun("export-billing")) return null
  return (
    <Menu position="bottom-end" width={260}>
      <Menu.Target>
        <Button variant="filled" loading={isBusy}>
          Download
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {BILL_DOWNLOAD_FORMATS.map(([format, title, purpose, ending]) => (
          <Menu.Item key={format} onClick={() => onChoose(format, ending)}>
            {title}
            <Text size="xs" c="dimmed">
              {purpose}
            </Text>
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  )
}

/** The changes of the funds, from the opening to the closing balance. */
function Statement({ bill }: { readonly bill: Bill }) {
  const { charges, openingMicros, closingMicros, state } = bill
  const moves = [
    ["Funds added", bill.addedMicros],
    ["Funds purchased", bill.purchasedMicros],
    ["Corrections", bill.correctedMicros],
    [countText(charges, "charge"), -bill.chargedMicros],
    ["Refunds", bill.reducedMicros],
  ] as const
  const shown = moves.filter(([, micros]) => micros !== 0)
  const decimals = decimalsOf([openingMicros, closingMicros, ...shown.map(([, micros]) => micros)])
  const row = (word: string, micros: number, isSum: boolean) => (
    <Table.Tr key={word}>
      <Table.Td fw={isSum ? 600 : 400}>{word}</Table.Td>
      <Table.Td ta="right" fw={isSum ? 600 : 400}>
        <Money micros={micros} decimals={decimals} />
      </Table.Td>
    </Table.Tr>
  )
  return (
    <Section title="Statement">
      <Table maw={460} aria-label="Statement">
        <Table.Tbody>
          {row("Opening balance", openingMicros, true)}
          {shown.map(([word, micros]) => row(word, micros, false))}
          {row(state === "open" ? "Balance so far" : "Closing balance", closingMicros, true)}
        </Table.Tbody>
      </Table>
    </Section>
  )
}

type Line = Schema<"BillingLine">

function Lines({ month }: { readonly month: string }) {
  const { companyId } = useMe()
  const api = useApi()
  const [{ after: cursor }] = useFilters()
  const query = { month, ...(cursor === undefined ? {} : { cursor }) }
  const found = useQuery({
    queryKey: [companyId, "billing lines", query],
    queryFn: () => responseData(api.GET("/api/v1/billing/lines", { params: { query } })),
  })
  return (
    <QueryView query={found} lines={8}>
      {({ lines, nextCursor }) => (
        <LineTable key={cursor} lines={lines} next={nextCursor ?? null} />
      )}
    </QueryView>
  )
}

const KIND_LABELS: Readonly<Record<Line["kind"], string>> = {
  charge: "Charge",
  api_calls: "API calls",
  rent: "Rent",
  give_back: "Refund",
  purchase: "Funds purchased",
  funds_added: "Funds added",
  funds_corrected: "Correction",
}

function lineText({ kind, item, description }: Line): string {
  const what = item === null ? null : itemText(item)
  if (kind === "charge" || kind === "rent") return what ?? KIND_LABELS[kind]
  if (kind === "give_back")
    return what === null ? KIND_LABELS[kind] : `${KIND_LABELS[kind]}: ${what}`
  return description === null ? KIND_LABELS[kind] : `${KIND_LABELS[kind]}: ${description}`
}

function LineTable({
  lines,
  next,
}: {
  readonly lines: readonly Line[]
  readonly next: string | null
}) {
  const { person } = useNames()
  const [isAll, setAll] = useState(lines.length <= 2 * INITIAL_LINES)
  const shown = isAll ? lines : lines.slice(0, INITIAL_LINES)
  const decimals = decimalsOf(lines.map(({ amountMicros }) => amountMicros))
  const columns: readonly TableColumn<Line>[] = [
    {
      title: "Entry",
      cell: (line) => {
        const chargeId = line.corrects ?? line.chargeId
        return chargeId === null ? (
          lineText(line)
        ) : (
          <RowLink to={`spending/${chargeId}`}>{lineText(line)}</RowLink>
        )
      },
    },
    { title: "When", isHiddenOnNarrow: true, cell: ({ at }) => <Time at={at} /> },
    { title: "Person", isHiddenOnNarrow: true, cell: ({ personId }) => person(personId) },
    {
      title: "Quantity",
      isNumber: true,
      isHiddenOnNarrow: true,
      cell: ({ quantity, unit }) =>
        quantity === null
          ? "–"
          : unit === null
            ? quantity.toLocaleString("en-US")
            : countText(quantity, unit),
    },
    {
      title: "Amount",
      isNumber: true,
      cell: ({ amountMicros }) => <Money micros={amountMicros} decimals={decimals} />,
    },
  ]
  return (
    <Stack gap="sm">
      <DataTable
        label="Lines of the bill"
        columns={columns}
        rows={shown}
        next={next}
        order="after"
        rowKey={({ lineId }) => lineId}
        empty={
          <EmptyState
            title="No entries this month"
            description="Charges, purchases and refunds appear here in order."
          />
        }
      />
      {isAll ? null : (
        <Button variant="default" onClick={() => setAll(true)}>
          Show all {lines.length.toLocaleString("en-US")}
        </Button>
      )}
    </Stack>
  )
}
