import { Button, Group, Stack } from "@mantine/core"
import type { FormList } from "../../api/outreach-answers.ts"
import type { Schema } from "../../api/api-client.ts"
import { useApiQuery } from "../../api/api-client.ts"
import { useOperationQuery } from "../../api/operations.ts"
import { useMe } from "../../api/session.ts"
import { CopyCommandButton, curlOf } from "../../parts/copy-command.tsx"
import type { TableColumn } from "../../parts/data-table.tsx"
import { DataTable } from "../../parts/data-table.tsx"
import { EmptyState } from "../../parts/empty-state.tsx"
import { FilterBar, monthOptions } from "../../parts/filter-bar.tsx"
import { useFilters } from "../../parts/filters.ts"
import { QueryView } from "../../parts/query-view.tsx"
import { useNow } from "../../parts/use-now.ts"
import { TruncatedText } from "../../parts/truncated-text.tsx"
import { Section } from "../../parts/page-layout.tsx"
import { saveCsv } from "../../parts/save-csv.ts"
import { SearchBox } from "../../parts/search-box.tsx"
import { useShellCommand } from "../../parts/shell-command.ts"
import { Time } from "../../parts/time.tsx"
import { CollectLeadsButton } from "./collect.tsx"
import { LeadStatusBadge, leadName } from "./lead-status.tsx"

type Lead = Schema<"Lead">

/** Leads, oldest first, as the API lists them. */
export function LeadList() {
  const found = useLeads()
  const rows = useFilteredLeads(found.data?.leads ?? [])
  const [{ month }] = useFilters()
  const since = month === undefined ? "" : `?since=${sinceOf(month)}`
  return (
    <Section
      title="Leads"
      description="Oldest first, as programs collect them."
      actions={
        <>
          <CopyCommandButton what="curl" command={curlOf(`/api/v1/leads${since}`)} />
          <SaveList leads={rows} />
          <CollectLeadsButton leads={rows} label="Mark all shown" />
        </>
      }
    >
      <Stack>
        <LeadFilters />
        <QueryView query={found} lines={8}>
          {({ nextCursor }) => <List rows={rows} next={nextCursor ?? null} />}
        </QueryView>
      </Stack>
    </Section>
  )
}

const sinceOf = (month: string): string => `${month}-01T00:00:00.000Z`

/** A page of the list, from the month or cursor in the address. */
function useLeads() {
  const [{ month, after }] = useFilters()
  const since = month === undefined ? {} : { since: sinceOf(month) }
  const query = after === undefined ? since : { cursor: after }
  return useApiQuery(["listLeads", query], (api) => api.GET("/api/v1/leads", { params: { query } }))
}

function useFilteredLeads(leads: readonly Lead[]): readonly Lead[] {
  const [{ form, state, who }] = useFilters()
  const wanted = who?.toLowerCase() ?? ""
  return leads
    .filter((lead) => form === undefined || lead.formId === form)
    .filter(
      (lead) => state === undefined || (lead.collectedAt !== null) === (state === "collected"),
    )
    .filter((lead) => wanted === "" || JSON.stringify(lead).toLowerCase().includes(wanted))
}

function useFormNames(): readonly (readonly [string, string])[] {
  const forms = useOperationQuery<FormList>("form-list").data?.forms ?? []
  return forms.map(({ formId, name }) => [formId, name ?? formId] as const)
}

function LeadFilters() {
  return (
    <Group gap="xs">
      <SearchBox name="who" label="Name, email or words" />
      <FilterBar
        filters={[
          { name: "form", label: "Form", options: useFormNames() },
          {
            name: "state",
            label: "State",
            options: [
              ["new", "New"],
              ["collected", "Collected"],
            ],
          },
          { name: "month", label: "From month", options: monthOptions(useNow()) },
        ]}
      />
    </Group>
  )
}

function List({ rows, next }: { readonly rows: readonly Lead[]; readonly next: string | null }) {
  const commandFor = useShellCommand()
  const columns: readonly TableColumn<Lead>[] = [
    { title: "Name", cell: (lead) => <TruncatedText text={leadName(lead)} width={220} /> },
    {
      title: "Email",
      isHiddenOnNarrow: true,
      cell: ({ email }) => <TruncatedText text={email ?? "–"} width={220} />,
    },
    { title: "Phone", isHiddenOnNarrow: true, cell: ({ phone }) => phone ?? "–" },
    { title: "Form", isHiddenOnNarrow: true, cell: ({ formName }) => formName ?? "–" },
    { title: "State", cell: (lead) => <LeadStatusBadge lead={lead} /> },
    { title: "When", cell: ({ createdAt }) => <Time at={createdAt} /> },
  ]
  return (
    <DataTable
      label="Leads"
      columns={columns}
      rows={rows}
      next={next}
      order="after"
      rowKey={({ id }) => id}
      place={({ id, createdAt }) => ({
        to: `leads/${id}`,
        search: { since: new Date(Date.parse(createdAt) - 1).toISOString() },
      })}
      empty={
        <EmptyState
          title="No leads"
          description="People who submit one of your forms appear here. Open a form in the tab Forms, or with:"
          command={commandFor("form add", "--name 'Contact us'")}
        />
      }
    />
  )
}

function SaveList({ leads }: { readonly leads: readonly Lead[] }) {
  const { companyId } = useMe()
  const rows = leads.map(({ utm, fields, ...lead }) => ({
    ...lead,
    utm: JSON.stringify(utm),
    fields: JSON.stringify(fields),
  }))
  return (
    <Button
      variant="default"
      disabled={rows.length === 0}
      onClick={() => saveCsv(`leads-${companyId}.csv`, rows)}
    >
      Save as CSV
    </Button>
  )
}
