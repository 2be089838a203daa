import { useParams } from "@tanstack/react-router"
import type { EventList, StoredEvent } from "../api/audit-answers.ts"
import { useNames } from "../api/names.ts"
import { useOperationQuery } from "../api/operations.ts"
import { streamSubject, streamLabel } from "../api/streams.ts"
import { eventActor } from "../parts/event-actor.ts"
import type { TableColumn } from "../parts/data-table.tsx"
import { DataTable } from "../parts/data-table.tsx"
import { EmptyState } from "../parts/empty-state.tsx"
import { EventDrawer } from "../parts/event-drawer.tsx"
import { FilterBar, linkedFilter } from "../parts/filter-bar.tsx"
import { useFilters } from "../parts/filters.ts"
import { Id } from "../parts/id.tsx"
import { TextLink } from "../parts/link.tsx"
import { QueryView } from "../parts/query-view.tsx"
import { PageLayout } from "../parts/page-layout.tsx"
import { Time } from "../parts/time.tsx"

const PAGE_ROWS = 50

/** A stream: its events, oldest first, with details. */
export default function StreamPage() {
  const { stream = "" } = useParams({ strict: false })
  const [{ person, key, type, request, after, event }] = useFilters()
  const { people, keys } = useNames()
  const list = useOperationQuery<EventList>("audit-show", {
    stream,
    person,
    key,
    type,
    request,
    limit: PAGE_ROWS,
    from: after === undefined ? 0 : Number(after) + 1,
  })
  const thing = streamSubject(stream)
  const types = [...new Set(list.data?.events.map((one) => one.type))].toSorted()
  return (
    <PageLayout
      title={thing === null ? streamLabel(stream) : `${streamLabel(stream)} ${thing}`}
      description={
        <>
          Stream <Id id={stream} /> of the <TextLink to="ledger">ledger</TextLink>
        </>
      }
    >
      <FilterBar
        filters={[
          { name: "type", label: "Type of event", options: types.map((one) => [one, one]) },
          { name: "person", label: "Person", options: people },
          { name: "key", label: "Key", options: keys },
          ...linkedFilter("request", "Request", request),
        ]}
      />
      <QueryView query={list}>{(found) => <List stream={stream} {...found} />}</QueryView>
      {event === undefined ? null : <EventDrawer stream={stream} revision={Number(event)} />}
    </PageLayout>
  )
}

function List({ stream, events, next }: EventList & { readonly stream: string }) {
  const [filters] = useFilters()
  const names = useNames()
  const search = Object.fromEntries(
    Object.entries(filters).filter(([, value]) => value !== undefined),
  ) as Record<string, string>
  const columns: readonly TableColumn<StoredEvent>[] = [
    { title: "Event", cell: ({ type }) => type },
    {
      title: "Revision",
      isNumber: true,
      isHiddenOnNarrow: true,
      cell: ({ revision }) => revision.toLocaleString("en-US"),
    },
    { title: "When", cell: ({ at }) => <Time at={at} /> },
    { title: "By", isHiddenOnNarrow: true, cell: ({ metadata }) => eventActor(metadata, names) },
    { title: "Hash", isHiddenOnNarrow: true, cell: ({ metadata }) => <Id id={metadata.hash} /> },
  ]
  return (
    <DataTable
      label="Events"
      columns={columns}
      rows={events}
      order="after"
      next={next === null ? null : next - 1}
      rowKey={({ revision }) => String(revision)}
      place={({ revision }) => ({
        to: `ledger/${stream}`,
        search: { ...search, event: String(revision) },
      })}
      empty={
        <EmptyState
          title="No matching events"
          description="The stream has no event of this type, person or key."
          command={`company-ledger audit show ${stream}`}
        />
      }
    />
  )
}
