import { Code, Stack } from "@mantine/core"
import type { Schema } from "../../api/company.ts"
import { useFound } from "../../api/company.ts"
import { holds, useMe } from "../../api/session.ts"
import { CopyAs, curlOf, curlOfChange } from "../../parts/copy-as.tsx"
import type { Column } from "../../parts/data-table.tsx"
import { DataTable } from "../../parts/data-table.tsx"
import { Empty } from "../../parts/empty.tsx"
import { FilterBar } from "../../parts/filter-bar.tsx"
import { useFilters } from "../../parts/filters.ts"
import { Loaded } from "../../parts/loaded.tsx"
import { Section } from "../../parts/page.tsx"
import { phoneText } from "../../parts/phone-text.ts"
import { Status } from "../../parts/status.tsx"
import { Time } from "../../parts/time.tsx"
import { WebLink } from "../../parts/web-link.tsx"
import { AddOptOut, RemoveOptOut } from "./opt-out-changes.tsx"

type OptOut = Schema<"OptOut">
type OptIn = Schema<"OptIn">

/** Who may not be texted. */
export function OptOuts() {
  const found = useFound(["listOptOuts"], (api) => api.GET("/api/v1/phone/opt-outs"))
  const isManager = holds(useMe(), "Manage phone")
  const [{ stands }] = useFilters()
  return (
    <Section
      title="Opt-outs"
      says="Whoever texts STOP is on it by themselves. Up to 500, what changed last first."
      actions={
        <>
          <CopyAs what="curl" command={curlOf("/api/v1/phone/opt-outs")} />
          {isManager ? <AddOptOut /> : null}
        </>
      }
    >
      <Stack>
        <FilterBar
          filters={[
            {
              name: "stands",
              label: "Stands",
              options: [
                ["out", "Opted out"],
                ["in", "Opted in again"],
              ],
            },
          ]}
        />
        <Loaded of={found}>
          {({ optOuts }) => (
            <OptOutTable
              rows={optOuts.filter(({ status }) => stands === undefined || status === stands)}
              isManager={isManager}
            />
          )}
        </Loaded>
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
  const columns: readonly Column<OptOut>[] = [
    { title: "Number", cell: ({ phone }) => phoneText(phone) },
    {
      title: "Stands",
      cell: ({ status }) =>
        status === "out" ? (
          <Status tone="bad">Opted out</Status>
        ) : (
          <Status tone="good">Opted in again</Status>
        ),
    },
    {
      title: "How",
      isWide: true,
      cell: ({ source, keyword }) =>
        source === "api" ? (
          "Added by your company"
        ) : (
          <>Texted {keyword === null ? null : <Code>{keyword}</Code>}</>
        ),
    },
    {
      title: "Since",
      isWide: true,
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
      {...{ label: "Opt-outs", columns, rows }}
      rowKey={({ phone, at }) => phone ?? at}
      place={({ phone }) => ({ to: `phone/texts/${encodeURIComponent(phone ?? "erased")}` })}
      empty={
        <Empty
          title="Nobody has opted out"
          says="Whoever texts STOP to one of your numbers, or is added by your company, is listed here and not texted."
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

/** Who agreed to be texted. */
export function OptIns() {
  const found = useFound(["listOptIns"], (api) => api.GET("/api/v1/phone/optins"))
  const columns: readonly Column<OptIn>[] = [
    { title: "Number", cell: ({ phone }) => phoneText(phone) },
    { title: "Name", cell: ({ firstName }) => firstName ?? "–" },
    { title: "Agreed to", cell: ({ service, offers }) => agreedText(service, offers) },
    { title: "How", isWide: true, cell: ({ method }) => METHODS[method] },
    { title: "Page", isWide: true, cell: ({ sourceUrl }) => <WebLink address={sourceUrl} /> },
    {
      title: "When",
      isWide: true,
      cell: ({ createdAt }) => <Time at={createdAt} />,
      sortBy: (row) => row.createdAt,
    },
  ]
  return (
    <Section
      title="Opt-ins"
      says="Who agreed to be texted on your hosted pages. Up to 500, the newest first."
      actions={<CopyAs what="curl" command={curlOf("/api/v1/phone/optins")} />}
    >
      <Loaded of={found}>
        {({ optins }) => (
          <DataTable
            {...{ label: "Opt-ins", columns, rows: optins }}
            rowKey={({ id }) => id}
            place={({ phone }) => ({ to: `phone/texts/${encodeURIComponent(phone ?? "erased")}` })}
            empty={
              <Empty
                title="Nobody has opted in yet"
                says="Whoever agrees on the page that Registration hosts for you is listed here."
                command={curlOf("/api/v1/phone/optins")}
              />
            }
          />
        )}
      </Loaded>
    </Section>
  )
}

function agreedText(service: boolean, offers: boolean): string {
  if (service && offers) return "Service and offers"
  return offers ? "Offers" : service ? "Service" : "–"
}
