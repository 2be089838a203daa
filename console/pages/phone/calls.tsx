import { Stack } from "@mantine/core"
import type { Schema } from "../../api/company.ts"
import { useFound } from "../../api/company.ts"
import { CopyAs, curlOf } from "../../parts/copy-as.tsx"
import type { Column } from "../../parts/data-table.tsx"
import { DataTable } from "../../parts/data-table.tsx"
import { Empty } from "../../parts/empty.tsx"
import { FilterBar } from "../../parts/filter-bar.tsx"
import { useFilters } from "../../parts/filters.ts"
import { Loaded } from "../../parts/loaded.tsx"
import { Money, decimalsOf } from "../../parts/money.tsx"
import { Section } from "../../parts/page.tsx"
import { phoneText } from "../../parts/phone-text.ts"
import { Time } from "../../parts/time.tsx"
import { CALL_OUTCOMES, CallOutcome, durationText } from "./call-outcome.tsx"
import { KeepDays } from "./keep-days.tsx"

type Call = Schema<"Call">

/** Calls to the company's numbers, the newest first. */
export function Calls() {
  const [{ before }] = useFilters()
  const found = useFound(["listCalls", before ?? ""], (api) =>
    api.GET("/api/v1/phone/calls", {
      params: { query: before === undefined ? {} : { cursor: before } },
    }),
  )
  return (
    <Section
      title="Calls"
      says="What came to your numbers, the newest first."
      actions={
        <>
          <CopyAs what="curl" command={curlOf("/api/v1/phone/calls")} />
          <KeepDays />
        </>
      }
    >
      <Stack>
        <FilterBar
          filters={[{ name: "outcome", label: "What came of it", options: CALL_OUTCOMES }]}
        />
        <Loaded of={found} lines={8}>
          {({ calls, nextCursor }) => <List calls={calls} next={nextCursor ?? null} />}
        </Loaded>
      </Stack>
    </Section>
  )
}

function List({ calls, next }: { readonly calls: readonly Call[]; readonly next: string | null }) {
  const [{ outcome, before }] = useFilters()
  const rows = calls
    .filter((call) => outcome === undefined || call.outcome === outcome)
    .toReversed()
  const decimals = decimalsOf(rows.map(({ chargedMicros }) => chargedMicros))
  const columns: readonly Column<Call>[] = [
    { title: "From", cell: ({ from }) => (from === null ? "No number" : phoneText(from)) },
    { title: "When", cell: ({ createdAt }) => <Time at={createdAt} /> },
    { title: "To", isWide: true, cell: ({ to }) => phoneText(to) },
    { title: "Taken by", isWide: true, cell: ({ forwardedTo }) => phoneText(forwardedTo) },
    { title: "What came of it", cell: (call) => <CallOutcome call={call} /> },
    {
      title: "Lasted",
      isNumber: true,
      isWide: true,
      cell: ({ seconds }) => durationText(seconds),
    },
    { title: "Audio", isWide: true, cell: audioText },
    {
      title: "Cost",
      isNumber: true,
      isWide: true,
      cell: ({ chargedMicros }) => <Money micros={chargedMicros} decimals={decimals} />,
    },
  ]
  return (
    <DataTable
      {...{ label: "Calls", columns, rows, next }}
      rowKey={({ id }) => id}
      // A call's own page begins to look for it where it was listed.
      place={({ id }) => ({
        to: `phone/calls/${id}`,
        ...(before === undefined ? {} : { search: { from: before } }),
      })}
      empty={
        <Empty
          title="No calls here"
          says="What people call your numbers is listed here, with what came of it. The number's own page says whose phone rings. A program reads them so:"
          command={curlOf("/api/v1/phone/calls")}
        />
      }
    />
  )
}

function audioText({ recorded, voicemailSeconds }: Call): string {
  if (recorded) return "Recorded"
  return voicemailSeconds === null ? "–" : `Message, ${durationText(voicemailSeconds)}`
}
