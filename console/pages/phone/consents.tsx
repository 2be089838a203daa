import { Code, Stack } from "@mantine/core"
import type { Schema } from "../../api/api-client.ts"
import { useApiQuery } from "../../api/api-client.ts"
import { hasPermission, useMe } from "../../api/session.ts"
import { CopyCommandButton, curlOf, curlOfChange } from "../../parts/copy-command.tsx"
import type { TableColumn } from "../../parts/data-table.tsx"
import { DataTable } from "../../parts/data-table.tsx"
import { EmptyState } from "../../parts/empty-state.tsx"
import { FilterBar } from "../../parts/filter-bar.tsx"
import { useFilters } from "../../parts/filters.ts"
import { QueryView } from "../../parts/query-view.tsx"
import { Section } from "../../parts/page-layout.tsx"
import { phoneText } from "../../parts/phone-text.ts"
import { StatusBadge } from "../../parts/status-badge.tsx"
import { Time } from "../../parts/time.tsx"
import { WebLink } from "../../parts/web-link.tsx"
import { AddOptOut, RemoveOptOut } from "./opt-out-changes.tsx"

type OptOut = Schema<"OptOut">
type OptIn = Schema<"OptIn">

/** Numbers that must not be texted. */
export function OptOuts() {
  const found = useApiQuery(["listOptOuts"], (api) => api.GET("/api/v1/phone/opt-outs"))
  const isManager = hasPermission(useMe(), "Manage phone")
  const [{ stands }] = useFilters()
  return (
    <Section
      title="Opt-outs"
      description="Numbers that text STOP are added automatically. Up to 500, latest change first."
      actions={
        <>
          <CopyCommandButton what="curl" command={curlOf("/api/v1/phone/opt-outs")} />
          {isManager ? <AddOptOut /> : null}
        </>
      }
    >
      <Stack>
        <FilterBar
          filters={[
            {
              name: "stands",
              label: "Status",
              options: [
                ["out", "Opted out"],
                ["in", "Opted in again"],
              ],
            },
          ]}
        />
        <QueryView query={found}>
          {({ optOuts }) => (
            <OptOutTable
              rows={optOuts.filter(({ status }) => stands === undefined || status === stands)}
              isManager={isManager}
            />
          )}
        </QueryView>
      </Stack>
    </Section>
  )
}

function OptOutTable({
  rows,
  isManager,
}: {
  readonly rows: readonly OptOut[]
  readonly isManager: boolean
}) {
  const columns: readonly TableColumn<OptOut>[] = [
    { title: "Number", cell: ({ phone }) => phoneText(phone) },
    {
      title: "Status",
      cell: ({ status }) =>
        status === "out" ? (
          <StatusBadge tone="bad">Opted out</StatusBadge>
        ) : (
          <StatusBadge tone="good">Opted in again</StatusBadge>
        ),
    },
    {
      title: "Source",
      isHiddenOnNarrow: true,
      cell: ({ source, keyword }) =>
        source === "api" ? (
          "Added by your company"
        ) : (
          <>Texted {keyword === null ? null : <Code>{keyword}</Code>}</>
        ),
    },
    {
      title: "Since",
      isHiddenOnNarrow: true,
      cell: ({ since }) => <Time at={since} />,
      sortBy: (row) => row.since,
    },
    {
      title: "Change",
      isNumber: true,
      cell: ({ phone, status, source }) =>
        isManager && status === "out" && source === "api" && phone !== null ? (
          <RemoveOptOut phone={phone} />
        ) : null,
    },
  ]
  return (
    <DataTable
      label="Opt-outs"
      columns={columns}
      rows={rows}
      rowKey={({ phone, at }) => phone ?? at}
      place={({ phone }) => ({ to: `phone/texts/${encodeURIComponent(phone ?? "erased")}` })}
      empty={
        <EmptyState
          title="No opt-outs"
          description="Numbers that text STOP or that your company adds appear here, and are not texted."
          command={curlOfChange({
            method: "POST",
            path: "/api/v1/phone/opt-outs",
            body: { phone: "+14155550123" },
          })}
        />
      }
    />
  )
}

const METHODS = {
  web: "On a web page",
  phone: "By phone",
  paper: "On paper",
  text: "By text",
} as const

/** Numbers that agreed to texts. */
export function OptIns() {
  const found = useApiQuery(["listOptIns"], (api) => api.GET("/api/v1/phone/optins"))
  const columns: readonly TableColumn<OptIn>[] = [
    { title: "Number", cell: ({ phone }) => phoneText(phone) },
    { title: "Name", cell: ({ firstName }) => firstName ?? "–" },
    { title: "Agreed to", cell: ({ service, offers }) => agreedText(service, offers) },
    { title: "Source", isHiddenOnNarrow: true, cell: ({ method }) => METHODS[method] },
    {
      title: "Page",
      isHiddenOnNarrow: true,
      cell: ({ sourceUrl }) => <WebLink address={sourceUrl} />,
    },
    {
      title: "When",
      isHiddenOnNarrow: true,
      cell: ({ createdAt }) => <Time at={createdAt} />,
      sortBy: (row) => row.createdAt,
    },
  ]
  return (
    <Section
      title="Opt-ins"
      description="People who agreed to texts on your hosted pages. Up to 500, newest first."
      actions={<CopyCommandButton what="curl" command={curlOf("/api/v1/phone/optins")} />}
    >
      <QueryView query={found}>
        {({ optins }) => (
          <DataTable
            label="Opt-ins"
            columns={columns}
            rows={optins}
            rowKey={({ id }) => id}
            place={({ phone }) => ({ to: `phone/texts/${encodeURIComponent(phone ?? "erased")}` })}
            empty={
              <EmptyState
                title="No opt-ins yet"
                description="People who agree on your hosted page appear here."
                command={curlOf("/api/v1/phone/optins")}
              />
            }
          />
        )}
      </QueryView>
    </Section>
  )
}

function agreedText(service: boolean, offers: boolean): string {
  if (service && offers) return "Service and offers"
  return offers ? "Offers" : service ? "Service" : "–"
}
