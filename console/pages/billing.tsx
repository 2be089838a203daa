import { Select, SimpleGrid } from "@mantine/core"
import type { CompanyShown } from "../api/answers.ts"
import type { Bill, BillList } from "../api/bills.ts"
import { monthText, paysText, planText } from "../api/bills.ts"
import { useAnswer, useMay, useOperation } from "../api/operations.ts"
import { AddFunds } from "../parts/add-funds.tsx"
import { BillState } from "../parts/bill-state.tsx"
import { Card } from "../parts/card.tsx"
import type { Column } from "../parts/data-table.tsx"
import { DataTable } from "../parts/data-table.tsx"
import { Empty } from "../parts/empty.tsx"
import { FormDialog } from "../parts/form-dialog.tsx"
import { Loaded } from "../parts/loaded.tsx"
import { Money } from "../parts/money.tsx"
import { NotYours } from "../parts/not-yours.tsx"
import { Figure, Page, Section } from "../parts/page.tsx"
import { useShellCommand } from "../parts/shell-command.ts"

/** Who pays, from what, and every month's bill. */
export default function Billing() {
  const may = useMay("bill-list")
  const company = useAnswer<CompanyShown>("company-show", {}, may)
  if (!may) {
    return <NotYours title="Billing" what="the bills" permissions={["See billing"]} />
  }
  return (
    <Page
      title="Billing"
      says="What the company pays, from what, and every month's bill."
      actions={
        <>
          <AddFunds />
          {company.data === undefined ? null : <ChangePlan company={company.data} />}
        </>
      }
    >
      <Loaded of={company} lines={2}>
        {(found) => <Standing company={found} />}
      </Loaded>
      <Card company={company} />
      <Months />
    </Page>
  )
}

function Standing({ company }: { readonly company: CompanyShown }) {
  const { balanceMicros, plan, pays, creditLineMicros } = company
  return (
    <SimpleGrid cols={{ base: 1, xs: 3 }} spacing="xl">
      <Figure
        label="Balance"
        says={
          creditLineMicros === 0 ? undefined : (
            <>
              and a credit line of <Money micros={creditLineMicros} />
            </>
          )
        }
      >
        <Money micros={balanceMicros} decimals={2} />
      </Figure>
      <Figure label="Plan">{planText(plan)}</Figure>
      <Figure label="Paid" says={pays === "card" ? "At the end of the month" : undefined}>
        {pays === "card" ? "By card" : "Prepaid"}
      </Figure>
    </SimpleGrid>
  )
}

type Values = { readonly plan: string; readonly pays: string }

function ChangePlan({ company }: { readonly company: CompanyShown }) {
  const { properties = {} } = useOperation("company-change")?.input ?? {}
  const options = (name: "plan" | "pays", text: (value: string) => string) =>
    (properties[name]?.enum ?? [company[name]]).map((value) => ({ value, label: text(value) }))
  return (
    <FormDialog<Values, unknown>
      operation="company-change"
      label="Change the plan"
      says="It holds from now on. The bills of months that are closed stay as they are."
      initial={{ plan: company.plan, pays: company.pays }}
      inputOf={(values) => values}
      fields={(form) => (
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          <Select
            label="Plan"
            allowDeselect={false}
            data={options("plan", planText)}
            {...form.getInputProps("plan")}
          />
          <Select
            label="Paid"
            allowDeselect={false}
            data={options("pays", paysText)}
            {...form.getInputProps("pays")}
          />
        </SimpleGrid>
      )}
      does="Change"
      done="The plan was changed."
    />
  )
}

function Months() {
  const list = useAnswer<BillList>("bill-list")
  return (
    <Section
      title="Months"
      says="In UTC. What is given back later stands in the month in which it was."
    >
      <Loaded of={list}>{({ bills }) => <Bills bills={bills} />}</Loaded>
    </Section>
  )
}

function Bills({ bills }: BillList) {
  const commandFor = useShellCommand()
  const money = (title: string, of: (bill: Bill) => number, isWide = true): Column<Bill> => ({
    title,
    isNumber: true,
    isWide,
    cell: (bill) => <Money micros={of(bill)} decimals={2} />,
    sortBy: of,
  })
  const columns: readonly Column<Bill>[] = [
    { title: "Month", cell: ({ month }) => monthText(month), sortBy: ({ month }) => month },
    { title: "State", cell: ({ state }) => <BillState state={state} /> },
    {
      title: "Charges",
      isNumber: true,
      isWide: true,
      cell: ({ charges }) => charges.toLocaleString("en-US"),
      sortBy: ({ charges }) => charges,
    },
    money("Added", ({ addedMicros, purchasedMicros }) => addedMicros + purchasedMicros),
    money("Given back", ({ reducedMicros }) => reducedMicros),
    money("Charged", ({ chargedMicros }) => chargedMicros, false),
    money("Left", ({ closingMicros }) => closingMicros),
  ]
  return (
    <DataTable
      {...{ label: "Months", columns, rows: bills }}
      rowKey={({ month }) => month}
      place={({ month }) => ({ to: `billing/${month}` })}
      empty={
        <Empty
          title="No month yet"
          says="Each month has a bill from the one on in which the company's account was opened."
          command={commandFor("bill list")}
        />
      }
    />
  )
}
