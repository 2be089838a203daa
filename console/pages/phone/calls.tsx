import { Stack } from "@mantine/core"
import type { Schema } from "../../api/api-client.ts"
import { useApiQuery } from "../../api/api-client.ts"
import { CopyCommandButton, curlOf } from "../../parts/copy-command.tsx"
import type { TableColumn } from "../../parts/data-table.tsx"
import { DataTable } from "../../parts/data-table.tsx"
import { EmptyState } from "../../parts/empty-state.tsx"
import { FilterBar } from "../../parts/filter-bar.tsx"
import { useFilters } from "../../parts/filters.ts"
import { QueryView } from "../../parts/query-view.tsx"
import { Money, decimalsOf } from "../../parts/money.tsx"
import { Section } from "../../parts/page-layout.tsx"
import { phoneText } from "../../parts/phone-text.ts"
import { Time } from "../../parts/time.tsx"
import { CALL_OUTCOMES, CallOutcome, durationText } from "./call-outcome.tsx"
import { RecordingRetention } from "./recording-retention.tsx"

type Call = Schema<"Call">

/** Calls to the company's numbers, newest first. */
export function CallSection() {
  const [{ before }] = useFilters()
  const found = useApiQuery(["listCalls", before ?? ""], (api) =>
    api.GET("/api/v1/phone/calls", {
      params: { query: before === undefined ? {} : { cursor: before } },
    }),
  )
  return (
    <Section
      title="Calls"
      description="Calls to your numbers, newest first."
      actions={
        <>
          <CopyCommandButton what="curl" command={curlOf("/api/v1/phone/calls")} />
          <RecordingRetention />
        </>
      }
    >
      <Stack>
        <FilterBar filters={[{ name: "outcome", label: "Outcome", options: CALL_OUTCOMES }]} />
        <QueryView query={found} lines={8}>
          {({ calls, nextCursor }) => <List calls={calls} next={nextCursor ?? null} />}
        </QueryView>
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
  const columns: readonly TableColumn<Call>[] = [
    { title: "From", cell: ({ from }) => (from === null ? "Unknown" : phoneText(from)) },
    { title: "When", cell: ({ createdAt }) => <Time at={createdAt} /> },
    { title: "To", isHiddenOnNarrow: true, cell: ({ to }) => phoneText(to) },
    {
      title: "Answered by",
      isHiddenOnNarrow: true,
      cell: ({ forwardedTo }) => phoneText(forwardedTo),
    },
    { title: "Outcome", cell: (call) => <CallOutcome call={call} /> },
    {
      title: "Duration",
      isNumber: true,
      isHiddenOnNarrow: true,
      cell: ({ seconds }) => durationText(seconds),
    },
    { title: "Audio", isHiddenOnNarrow: true, cell: audioText },
    {
      title: "Cost",
      isNumber: true,
      isHiddenOnNarrow: true,
      cell: ({ chargedMicros }) => <Money micros={chargedMicros} decimals={decimals} />,
    },
  ]
  return (
    <DataTable
      label="Calls"
      columns={columns}
      rows={rows}
      next={next}
      rowKey={({ id }) => id}
      // The page of a call searches from the page on which it was listed.
      place={({ id }) => ({
        to: `phone/calls/${id}`,
        ...(before === undefined ? {} : { search: { from: before } }),
      })}
      empty={
        <EmptyState
          title="No calls"
          description="Calls to your numbers appear here, with their outcome. Set the phones that ring on the page of a number. Programs read calls with:"
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
