import { Select, SimpleGrid } from "@mantine/core"
import type { CompanyDetails } from "../api/answers.ts"
import type { Bill, BillList } from "../api/bills.ts"
import { monthText, paysText, planText } from "../api/bills.ts"
import { useOperationQuery, useCanRun, useOperation } from "../api/operations.ts"
import { AddFundsButton } from "../parts/add-funds.tsx"
import { BillStateBadge } from "../parts/bill-state.tsx"
import { CardSection } from "../parts/card-section.tsx"
import type { TableColumn } from "../parts/data-table.tsx"
import { DataTable } from "../parts/data-table.tsx"
import { EmptyState } from "../parts/empty-state.tsx"
import { OperationFormButton } from "../parts/operation-form-button.tsx"
import { QueryView } from "../parts/query-view.tsx"
import { Money } from "../parts/money.tsx"
import { NoPermission } from "../parts/no-permission.tsx"
import { KeyFigure, PageLayout, Section } from "../parts/page-layout.tsx"
import { useShellCommand } from "../parts/shell-command.ts"

/** The account, the card and all bills. */
export default function BillingPage() {
  const may = useCanRun("bill-list")
  const company = useOperationQuery<CompanyDetails>("company-show", {}, may)
  if (!may) {
    return <NoPermission title="Billing" what="the bills" permissions={["See billing"]} />
  }
  return (
    <PageLayout
      title="Billing"
      description="The company's balance, plan, card and monthly bills."
      actions={
        <>
          <AddFundsButton />
          {company.data === undefined ? null : <ChangePlan company={company.data} />}
        </>
      }
    >
      <QueryView query={company} lines={2}>
        {(found) => <AccountSummary company={found} />}
      </QueryView>
      <CardSection company={company} />
      <Months />
    </PageLayout>
  )
}

function AccountSummary({ company }: { readonly company: CompanyDetails }) {
  const { balanceMicros, plan, pays, creditLineMicros } = company
  return (
    <SimpleGrid cols={{ base: 1, xs: 3 }} spacing="xl">
      <KeyFigure
        label="Balance"
        description={
          creditLineMicros === 0 ? undefined : (
            <>
              plus a credit line of <Money micros={creditLineMicros} />
            </>
          )
        }
      >
        <Money micros={balanceMicros} decimals={2} />
      </KeyFigure>
      <KeyFigure label="Plan">{planText(plan)}</KeyFigure>
      <KeyFigure
        label="Payment"
        description={pays === "card" ? "At the end of the month" : undefined}
      >
        {pays === "card" ? "By card" : "Prepaid"}
      </KeyFigure>
    </SimpleGrid>
  )
}

type Values = { readonly plan: string; readonly pays: string }

function ChangePlan({ company }: { readonly company: CompanyDetails }) {
  const { properties = {} } = useOperation("company-change")?.input ?? {}
  const options = (name: "plan" | "pays", text: (value: string) => string) =>
    (properties[name]?.enum ?? [company[name]]).map((value) => ({ value, label: text(value) }))
  return (
    <OperationFormButton<Values, unknown>
      operation="company-change"
      label="Change the plan"
      description="Applies from now on. Closed bills do not change."
      initialValues={{ plan: company.plan, pays: company.pays }}
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
            label="Payment"
            allowDeselect={false}
            data={options("pays", paysText)}
            {...form.getInputProps("pays")}
          />
        </SimpleGrid>
      )}
      submitLabel="Change"
      successMessage="The plan was changed."
    />
  )
}

function Months() {
  const list = useOperationQuery<BillList>("bill-list")
  return (
    <Section
      title="Months"
      description="In UTC. A refund appears in the month in which it was made."
    >
      <QueryView query={list}>{({ bills }) => <Bills bills={bills} />}</QueryView>
    </Section>
  )
}

function Bills({ bills }: BillList) {
  const commandFor = useShellCommand()
  const money = (
    title: string,
    of: (bill: Bill) => number,
    isHiddenOnNarrow = true,
  ): TableColumn<Bill> => ({
    title,
    isNumber: true,
    isHiddenOnNarrow,
    cell: (bill) => <Money micros={of(bill)} decimals={2} />,
    sortBy: of,
  })
  const columns: readonly TableColumn<Bill>[] = [
    { title: "Month", cell: ({ month }) => monthText(month), sortBy: ({ month }) => month },
    { title: "State", cell: ({ state }) => <BillStateBadge state={state} /> },
    {
      title: "Charges",
      isNumber: true,
      isHiddenOnNarrow: true,
      cell: ({ charges }) => charges.toLocaleString("en-US"),
      sortBy: ({ charges }) => charges,
    },
    money("Added", ({ addedMicros, purchasedMicros }) => addedMicros + purchasedMicros),
    money("Refunds", ({ reducedMicros }) => reducedMicros),
    money("Charged", ({ chargedMicros }) => chargedMicros, false),
    money("Left", ({ closingMicros }) => closingMicros),
  ]
  return (
    <DataTable
      label="Months"
      columns={columns}
      rows={bills}
      rowKey={({ month }) => month}
      place={({ month }) => ({ to: `billing/${month}` })}
      empty={
        <EmptyState
          title="No bills yet"
          description="Bills start in the month in which the company's account was opened."
          command={commandFor("bill list")}
        />
      }
    />
  )
}
