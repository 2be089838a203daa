import type { Schema } from "../../api/company.ts"
import { holds, useMe } from "../../api/session.ts"
import { CopyAs, curlOf, curlOfChange } from "../../parts/copy-as.tsx"
import type { Column } from "../../parts/data-table.tsx"
import { DataTable } from "../../parts/data-table.tsx"
import { Empty } from "../../parts/empty.tsx"
import { Loaded } from "../../parts/loaded.tsx"
import { Money } from "../../parts/money.tsx"
import { Section } from "../../parts/page.tsx"
import { phoneText } from "../../parts/phone-text.ts"
import { Status } from "../../parts/status.tsx"
import { Time } from "../../parts/time.tsx"
import { BuyNumbers } from "./buy-numbers.tsx"
import { PartStatus } from "./part-status.tsx"
import { abilitiesText, placeText, usePhoneState, useRegistration } from "./state.ts"

type PhoneNumber = Schema<"PhoneNumber">

/** The company's numbers, and how to get another one. */
export function Numbers() {
  const state = usePhoneState()
  const isManager = holds(useMe(), "Manage phone")
  return (
    <>
      <Section
        title="Your numbers"
        says="Each is charged a month ahead, on the day that it was bought."
        actions={<CopyAs what="curl" command={curlOf("/api/v1/phone/state")} />}
      >
        <Loaded of={state}>{({ numbers }) => <Owned numbers={numbers} />}</Loaded>
      </Section>
      {isManager ? <BuyNumbers state={state.data} /> : null}
    </>
  )
}

function Owned({ numbers }: { readonly numbers: readonly PhoneNumber[] }) {
  const { data: registration } = useRegistration()
  const statusOf = (id: string) =>
    registration?.parts.find(({ part }) => part === `number:${id}`)?.status
  const columns: readonly Column<PhoneNumber>[] = [
    { title: "Number", cell: ({ number }) => phoneText(number), sortBy: ({ number }) => number },
    { title: "Place", isWide: true, cell: placeText },
    { title: "It can", cell: abilitiesText },
    {
      title: "Texting",
      isWide: true,
      cell: ({ id }) => {
        const status = statusOf(id)
        return status === undefined ? "–" : <PartStatus status={status} />
      },
    },
    {
      title: "A month",
      isNumber: true,
      isWide: true,
      cell: ({ monthlyMicros, paidThrough }) =>
        paidThrough === null ? "Free" : <Money micros={monthlyMicros} />,
      sortBy: ({ monthlyMicros }) => monthlyMicros,
    },
    {
      title: "Paid until",
      isWide: true,
      cell: ({ paidThrough, releasedUnlessPaidBy }) =>
        releasedUnlessPaidBy === null ? (
          <Time at={paidThrough} />
        ) : (
          <Status tone="bad">Not paid</Status>
        ),
    },
  ]
  return (
    <DataTable
      {...{ label: "Your numbers", columns, rows: numbers }}
      rowKey={({ id }) => id}
      place={({ id }) => ({ to: `phone/numbers/${id}` })}
      empty={
        <Empty
          title="No numbers yet"
          says="A number that you buy is listed here, with what it can do. Search for one below, or by a program:"
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
