import type { Schema } from "../../api/api-client.ts"
import { hasPermission, useMe } from "../../api/session.ts"
import { CopyCommandButton, curlOf, curlOfChange } from "../../parts/copy-command.tsx"
import type { TableColumn } from "../../parts/data-table.tsx"
import { DataTable } from "../../parts/data-table.tsx"
import { EmptyState } from "../../parts/empty-state.tsx"
import { QueryView } from "../../parts/query-view.tsx"
import { Money } from "../../parts/money.tsx"
import { Section } from "../../parts/page-layout.tsx"
import { phoneText } from "../../parts/phone-text.ts"
import { StatusBadge } from "../../parts/status-badge.tsx"
import { Time } from "../../parts/time.tsx"
import { BuyNumbers } from "./buy-numbers.tsx"
import { PartStatusBadge } from "./part-status.tsx"
import { abilitiesText, localityText, usePhoneState, useRegistration } from "./phone-state.ts"

type PhoneNumber = Schema<"PhoneNumber">

/** The company's numbers, and buying one. */
export function Numbers() {
  const state = usePhoneState()
  const isManager = hasPermission(useMe(), "Manage phone")
  return (
    <>
      <Section
        title="Your numbers"
        description="Each number is charged monthly in advance, on the day it was bought."
        actions={<CopyCommandButton what="curl" command={curlOf("/api/v1/phone/state")} />}
      >
        <QueryView query={state}>{({ numbers }) => <OwnedNumbers numbers={numbers} />}</QueryView>
      </Section>
      {isManager ? <BuyNumbers state={state.data} /> : null}
    </>
  )
}

function OwnedNumbers({ numbers }: { readonly numbers: readonly PhoneNumber[] }) {
  const { data: registration } = useRegistration()
  const statusOf = (id: string) =>
    registration?.parts.find(({ part }) => part === `number:${id}`)?.status
  const columns: readonly TableColumn<PhoneNumber>[] = [
    { title: "Number", cell: ({ number }) => phoneText(number), sortBy: ({ number }) => number },
    { title: "Location", isHiddenOnNarrow: true, cell: localityText },
    { title: "Capabilities", cell: abilitiesText },
    {
      title: "Texting",
      isHiddenOnNarrow: true,
      cell: ({ id }) => {
        const status = statusOf(id)
        return status === undefined ? "–" : <PartStatusBadge status={status} />
      },
    },
    {
      title: "Per month",
      isNumber: true,
      isHiddenOnNarrow: true,
      cell: ({ monthlyMicros, paidThrough }) =>
        paidThrough === null ? "Free" : <Money micros={monthlyMicros} />,
      sortBy: ({ monthlyMicros }) => monthlyMicros,
    },
    {
      title: "Paid until",
      isHiddenOnNarrow: true,
      cell: ({ paidThrough, releasedUnlessPaidBy }) =>
        releasedUnlessPaidBy === null ? (
          <Time at={paidThrough} />
        ) : (
          <StatusBadge tone="bad">Not paid</StatusBadge>
        ),
    },
  ]
  return (
    <DataTable
      label="Your numbers"
      columns={columns}
      rows={numbers}
      rowKey={({ id }) => id}
      place={({ id }) => ({ to: `phone/numbers/${id}` })}
      empty={
        <EmptyState
          title="No numbers yet"
          description="Numbers that you buy appear here, with their capabilities. Search below, or buy with a program:"
          command={curlOfChange({
            method: "POST",
            path: "/api/v1/phone/buy",
            body: { number: "+14155550123" },
          })}
        />
      }
    />
  )
}
