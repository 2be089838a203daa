import { Stack } from "@mantine/core"
import type { Suppression, SuppressionList } from "../../api/work-answers.ts"
import { useFound } from "../../api/company.ts"
import { useAnswer, useCommand, useMay, useOperation } from "../../api/operations.ts"
import { holds, useMe } from "../../api/session.ts"
import { Action } from "../../parts/action.tsx"
import { CopyAs } from "../../parts/copy-as.tsx"
import type { Column } from "../../parts/data-table.tsx"
import { DataTable } from "../../parts/data-table.tsx"
import { Empty } from "../../parts/empty.tsx"
import { FilterBar } from "../../parts/filter-bar.tsx"
import { useFilters } from "../../parts/filters.ts"
import { Loaded } from "../../parts/loaded.tsx"
import { OneLine } from "../../parts/one-line.tsx"
import { Section } from "../../parts/page.tsx"
import { useShellCommand } from "../../parts/shell-command.ts"
import { Time } from "../../parts/time.tsx"

const WHY = { bounced: "Came back", unsubscribed: "Unsubscribed" } as const

/** Whom the company must not write to. */
export function Suppressions() {
  const found = useAnswer<SuppressionList>("suppression-list")
  const operation = useOperation("suppression-list")
  const commandOf = useCommand()
  const [{ why }] = useFilters()
  return (
    <Section
      title="Not written to"
      says="Their mails came back for good, or they unsubscribed. Mails to them are not sent."
      actions={operation === null ? undefined : <CopyAs command={commandOf(operation, {})} />}
    >
      <Stack>
        <FilterBar filters={[{ name: "why", label: "Why", options: Object.entries(WHY) }]} />
        <Loaded of={found}>
          {({ suppressions }) => (
            <List rows={suppressions.filter((one) => why === undefined || one.why === why)} />
          )}
        </Loaded>
      </Stack>
    </Section>
  )
}

function List({ rows }: { readonly rows: readonly Suppression[] }) {
  const nameOf = useSenderNames()
  const mayLift = useMay("suppression-lift")
  const commandFor = useShellCommand()
  const columns: readonly Column<Suppression>[] = [
    {
      title: "Who",
      cell: ({ email }) => <OneLine text={email ?? "Erased"} width={280} />,
      sortBy: ({ email }) => email ?? "",
    },
    { title: "Why", cell: ({ why }) => WHY[why], sortBy: ({ why }) => why },
    {
      title: "From which domain",
      isWide: true,
      cell: ({ sendingDomainId }) => (sendingDomainId === null ? "Any" : nameOf(sendingDomainId)),
    },
    {
      title: "Since",
      isWide: true,
      cell: ({ since }) => <Time at={since} />,
      sortBy: (row) => row.since,
    },
    ...(mayLift
      ? [{ title: "Change", isNumber: true, cell: (row: Suppression) => <Lift row={row} /> }]
      : []),
  ]
  return (
    <DataTable
      {...{ label: "Not written to", columns, rows }}
      rowKey={({ email, since, sendingDomainId }) => `${email} ${since} ${sendingDomainId}`}
      empty={
        <Empty
          title="You may write to everybody"
          says="Whoever's mails come back for good, or who unsubscribes, is listed here by itself."
          command={commandFor("suppression list")}
        />
      }
    />
  )
}

function Lift({ row: { email } }: { readonly row: Suppression }) {
  if (email === null) return null
  return (
    <Action
      operation="suppression-lift"
      input={{ email }}
      label="Lift"
      variant="subtle"
      says={`Mails to ${email} are sent again from now on. Those of meanwhile are not.`}
      done={`${email} may be written to again.`}
    />
  )
}

/** What sending domains are called, as far as the reader may know it. */
function useSenderNames(): (sendingDomainId: string) => string {
  const isWanted = holds(useMe(), "Manage domains")
  const { data } = useFound(
    ["listSendingDomains"],
    (api) => api.GET("/api/v1/email/domains"),
    isWanted,
  )
  return (id) => data?.domains.find((one) => one.id === id)?.domain ?? id
}
