import { Stack, Text } from "@mantine/core"
import type { StreamList, StreamRow } from "../api/audit-answers.ts"
import { useNames } from "../api/names.ts"
import { useOperationQuery, useCanRun } from "../api/operations.ts"
import { streamSubject, streamLabel } from "../api/streams.ts"
import { SignedHeadSection } from "../parts/signed-head.tsx"
import { VerifySection } from "../parts/audit-verify.tsx"
import type { TableColumn } from "../parts/data-table.tsx"
import { DataTable } from "../parts/data-table.tsx"
import { DownloadButton } from "../parts/download.tsx"
import { EmptyState } from "../parts/empty-state.tsx"
import { FilterBar, linkedFilter } from "../parts/filter-bar.tsx"
import { useFilters } from "../parts/filters.ts"
import { Id } from "../parts/id.tsx"
import { QueryView } from "../parts/query-view.tsx"
import { NoPermission } from "../parts/no-permission.tsx"
import { PageLayout } from "../parts/page-layout.tsx"
import { useShellCommand } from "../parts/shell-command.ts"
import { Tabs } from "../parts/tabs.tsx"
import { Time } from "../parts/time.tsx"

const PAGE_ROWS = 50

/** The company's streams for auditors, the signed head, and verification. */
export default function LedgerPage() {
  if (!useCanRun("audit-streams")) {
    return <NoPermission title="Ledger" what="the ledger" permissions={["See billing"]} />
  }
  return (
    <PageLayout
      title="Ledger"
      description="Every decision, event by event. Events never change, and anyone can verify that."
      actions={
        <DownloadButton
          operation="audit-export"
          fileName="ledger.ndjson"
          label="Export"
          description="Every event of the company with its hash, and the signed head: one file that docs/verify.mjs verifies anywhere. Personal fields stay sealed."
        />
      }
    >
      <Tabs
        label="Ledger"
        tabs={[
          { name: "streams", title: "Streams", content: () => <Streams /> },
          { name: "verify", title: "Verify", content: () => <VerifySection /> },
          { name: "head", title: "Head and key", content: () => <SignedHeadSection /> },
        ]}
      />
    </PageLayout>
  )
}

function Streams() {
  const [{ person, key, type, request, after }] = useFilters()
  const { people, keys } = useNames()
  const list = useOperationQuery<StreamList>("audit-streams", {
    person,
    key,
    type,
    request,
    limit: PAGE_ROWS,
    ...(after === undefined ? {} : { after }),
  })
  return (
    <Stack gap="sm">
      <FilterBar
        filters={[
          { name: "person", label: "Person", options: people },
          { name: "key", label: "Key", options: keys },
          { name: "type", label: "Type of event", options: TYPES.map((one) => [one, one]) },
          ...linkedFilter("request", "Request", request),
        ]}
      />
      <QueryView query={list}>{(found) => <List {...found} />}</QueryView>
    </Stack>
  )
}

/** Common types; the address accepts any. */
const TYPES = [
  "Charged",
  "ChargeRefused",
  "ChargeReduced",
  "FundsAdded",
  "LimitSet",
  "LimitRemoved",
  "PersonAdded",
  "PersonChanged",
  "PersonRemoved",
  "KeyCreated",
  "KeyDeleted",
] as const

function List({ streams, next }: StreamList) {
  const commandFor = useShellCommand()
  const [{ person, key, type, request }] = useFilters()
  const filters = Object.fromEntries(
    Object.entries({ person, key, type, request }).filter(([, value]) => value !== undefined),
  ) as Record<string, string>
  const columns: readonly TableColumn<StreamRow>[] = [
    {
      title: "Content",
      cell: ({ stream }) => streamLabel(stream),
    },
    {
      title: "Subject",
      isHiddenOnNarrow: true,
      cell: ({ stream }) => <StreamSubject stream={stream} />,
    },
    { title: "Stream", isHiddenOnNarrow: true, cell: ({ stream }) => <Id id={stream} /> },
    {
      title: "Events",
      isNumber: true,
      cell: ({ events }) => events.toLocaleString("en-US"),
    },
    { title: "Newest", cell: ({ lastAt }) => <Time at={lastAt} /> },
  ]
  return (
    <DataTable
      label="Streams"
      columns={columns}
      rows={streams}
      next={next}
      order="after"
      rowKey={({ stream }) => stream}
      place={({ stream }) => ({ to: `ledger/${stream}`, search: filters })}
      empty={
        <EmptyState
          title="No matching streams"
          description="Each decision is an event of a stream."
          command={commandFor("audit streams", "--type Charged")}
        />
      }
    />
  )
}

function StreamSubject({ stream }: { readonly stream: string }) {
  const thing = streamSubject(stream)
  return thing === null ? (
    <Text span inherit c="dimmed">
      The company
    </Text>
  ) : (
    <Id id={thing} />
  )
}
