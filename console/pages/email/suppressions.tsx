import { Stack } from "@mantine/core"
import type { Suppression, SuppressionList } from "../../api/outreach-answers.ts"
import { useApiQuery } from "../../api/api-client.ts"
import { useOperationQuery, useCommand, useCanRun, useOperation } from "../../api/operations.ts"
import { hasPermission, useMe } from "../../api/session.ts"
import { ActionButton } from "../../parts/action-button.tsx"
import { CopyCommandButton } from "../../parts/copy-command.tsx"
import type { TableColumn } from "../../parts/data-table.tsx"
import { DataTable } from "../../parts/data-table.tsx"
import { EmptyState } from "../../parts/empty-state.tsx"
import { FilterBar } from "../../parts/filter-bar.tsx"
import { useFilters } from "../../parts/filters.ts"
import { QueryView } from "../../parts/query-view.tsx"
import { TruncatedText } from "../../parts/truncated-text.tsx"
import { Section } from "../../parts/page-layout.tsx"
import { useShellCommand } from "../../parts/shell-command.ts"
import { Time } from "../../parts/time.tsx"

const REASON_LABELS = { bounced: "Came back", unsubscribed: "Unsubscribed" } as const

/** Whom the company must not write to. */
export function SuppressionSection() {
  const found = useOperationQuery<SuppressionList>("suppression-list")
  const operation = useOperation("suppression-list")
  const commandOf = useCommand()
  const [{ why }] = useFilters()
  return (
    <Section
      title="Not written to"
      description="Their mails came back for good, or they unsubscribed. Mails to them are not sent."
      actions={
        operation === null ? undefined : <CopyCommandButton command={commandOf(operation, {})} />
      }
    >
      <Stack>
        <FilterBar
          filters={[{ name: "why", label: "Why", options: Object.entries(REASON_LABELS) }]}
        />
        <QueryView query={found}>
          {({ suppressions }) => (
            <List rows={suppressions.filter((one) => why === undefined || one.reason === why)} />
          )}
        </QueryView>
      </Stack>
    </Section>
  )
}

function List({ rows }: { readonly rows: readonly Suppression[] }) {
  const nameOf = useSenderNames()
  const mayLift = useCanRun("suppression-lift")
  const commandFor = useShellCommand()
  const columns: readonly TableColumn<Suppression>[] = [
    {
      title: "Who",
      cell: ({ email }) => <TruncatedText text={email ?? "Erased"} width={280} />,
      sortBy: ({ email }) => email ?? "",
    },
    { title: "Why", cell: ({ reason }) => REASON_LABELS[reason], sortBy: ({ reason }) => reason },
    {
      title: "From which domain",
      isHiddenOnNarrow: true,
      cell: ({ sendingDomainId }) => (sendingDomainId === null ? "Any" : nameOf(sendingDomainId)),
    },
    {
      title: "Since",
      isHiddenOnNarrow: true,
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
        <EmptyState
          title="You may write to everybody"
          description="Whoever's mails come back for good, or who unsubscribes, is listed here by itself."
          command={commandFor("suppression list")}
        />
      }
    />
  )
}

function Lift({ row: { email } }: { readonly row: Suppression }) {
  if (email === null) return null
  return (
    <ActionButton
      operation="suppression-lift"
      input={{ email }}
      label="Lift"
      variant="subtle"
      description={`Mails to ${email} are sent again from now on. Those of meanwhile are not.`}
      successMessage={`${email} may be written to again.`}
    />
  )
}

/** What sending domains are called, as far as the reader may know it. */
function useSenderNames(): (sendingDomainId: string) => string {
  const isWanted = hasPermission(useMe(), "Manage domains")
  const { data } = useApiQuery(
    ["listSendingDomains"],
    (api) => api.GET("/api/v1/email/domains"),
    isWanted,
  )
  return (id) => data?.domains.find((one) => one.id === id)?.domain ?? id
}
