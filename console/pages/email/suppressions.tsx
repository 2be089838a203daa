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

const REASON_LABELS = { bounced: "Bounced", unsubscribed: "Unsubscribed" } as const

/** Addresses that the company must not write to. */
export function SuppressionSection() {
  const found = useOperationQuery<SuppressionList>("suppression-list")
  const operation = useOperation("suppression-list")
  const commandOf = useCommand()
  const [{ why }] = useFilters()
  return (
    <Section
      title="Suppressed"
      description="These addresses bounced or unsubscribed. Mails to them are not sent."
      actions={
        operation === null ? undefined : <CopyCommandButton command={commandOf(operation, {})} />
      }
    >
      <Stack>
        <FilterBar
          filters={[{ name: "why", label: "Reason", options: Object.entries(REASON_LABELS) }]}
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
      title: "Address",
      cell: ({ email }) => <TruncatedText text={email ?? "Erased"} width={280} />,
      sortBy: ({ email }) => email ?? "",
    },
    {
      title: "Reason",
      cell: ({ reason }) => REASON_LABELS[reason],
      sortBy: ({ reason }) => reason,
    },
    {
      title: "Sending domain",
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
      label="Suppressed"
      columns={columns}
      rows={rows}
      rowKey={({ email, since, sendingDomainId }) => `${email} ${since} ${sendingDomainId}`}
      empty={
        <EmptyState
          title="No suppressed addresses"
          description="Addresses that bounce or unsubscribe are added automatically."
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
      description={`Mails to ${email} are sent again from now on. Earlier mails are not.`}
      successMessage={`${email} can get mail again.`}
    />
  )
}

/** Names of sending domains, as far as the reader may know them. */
function useSenderNames(): (sendingDomainId: string) => string {
  const canList = hasPermission(useMe(), "Manage domains")
  const { data } = useApiQuery(
    ["listSendingDomains"],
    (api) => api.GET("/api/v1/email/domains"),
    canList,
  )
  return (id) => data?.domains.find((one) => one.id === id)?.domain ?? id
}
