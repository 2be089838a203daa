import { Stack, Text } from "@mantine/core"
import type { StreamList, StreamRow } from "../api/audit-answers.ts"
import { useNames } from "../api/names.ts"
import { useAnswer, useMay } from "../api/operations.ts"
import { streamThing, streamWords } from "../api/streams.ts"
import { HeadAndKey } from "../parts/audit-head.tsx"
import { Verify } from "../parts/audit-verify.tsx"
import type { Column } from "../parts/data-table.tsx"
import { DataTable } from "../parts/data-table.tsx"
import { Download } from "../parts/download.tsx"
import { Empty } from "../parts/empty.tsx"
import { FilterBar, linkedFilter } from "../parts/filter-bar.tsx"
import { useFilters } from "../parts/filters.ts"
import { Id } from "../parts/id.tsx"
import { Loaded } from "../parts/loaded.tsx"
import { NotYours } from "../parts/not-yours.tsx"
import { Page } from "../parts/page.tsx"
import { useShellCommand } from "../parts/shell-command.ts"
import { Tabs } from "../parts/tabs.tsx"
import { Time } from "../parts/time.tsx"

const PAGE_ROWS = 50

/** The company's streams as an auditor reads them, what was signed of them, and checking all of it. */
export default function Ledger() {
  if (!useMay("audit-streams")) {
    return <NotYours title="Ledger" what="the ledger" permissions={["See billing"]} />
  }
  return (
    <Page
      title="Ledger"
      says="All that was decided, event by event. Nothing is ever changed or taken away, and anybody can check that."
      actions={
        <Download
          operation="audit-export"
          fileName="ledger.ndjson"
          label="Export"
          says="Every event of the company with its hash, and the signed head: one file that docs/verify.mjs checks anywhere. Personal fields stay sealed."
        />
      }
    >
      <Tabs
        label="The ledger"
        tabs={[
          { name: "streams", title: "Streams", content: () => <Streams /> },
          { name: "verify", title: "Verify", content: () => <Verify /> },
          { name: "head", title: "Head and key", content: () => <HeadAndKey /> },
        ]}
      />
    </Page>
  )
}

function Streams() {
  const [{ person, key, type, request, after }] = useFilters()
  const { people, keys } = useNames()
  const list = useAnswer<StreamList>("audit-streams", {
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
      <Loaded of={list}>{(found) => <List {...found} />}</Loaded>
    </Stack>
  )
}

/** Those that are looked for; the address takes any. */
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
  const narrowed = Object.fromEntries(
    Object.entries({ person, key, type, request }).filter(([, value]) => value !== undefined),
  ) as Record<string, string>
  const columns: readonly Column<StreamRow>[] = [
    {
      title: "Holds",
      cell: ({ stream }) => streamWords(stream),
    },
    {
      title: "Of",
      isWide: true,
      cell: ({ stream }) => <Thing stream={stream} />,
    },
    { title: "Stream", isWide: true, cell: ({ stream }) => <Id id={stream} /> },
    {
      title: "Events",
      isNumber: true,
      cell: ({ events }) => events.toLocaleString("en-US"),
    },
    { title: "Newest", cell: ({ lastAt }) => <Time at={lastAt} /> },
  ]
  return (
    <DataTable
      {...{ label: "Streams", columns, rows: streams, next, order: "after" }}
      rowKey={({ stream }) => stream}
      place={({ stream }) => ({ to: `ledger/${stream}`, search: narrowed })}
      empty={
        <Empty
          title="No stream has such an event"
          says="What people, keys and the program decide becomes an event of a stream."
          command={commandFor("audit streams", "--type Charged")}
        />
      }
    />
  )
}

function Thing({ stream }: { readonly stream: string }) {
  const thing = streamThing(stream)
  return thing === null ? (
    <Text span inherit c="dimmed">
      The company
    </Text>
  ) : (
    <Id id={thing} />
  )
}
