import { Text } from "@mantine/core"
import type { AppList, AppUpdate, InstalledApp } from "../api/apps.ts"
import { UPDATE_STATUS_LABELS } from "../api/apps.ts"
import { useOperationQuery } from "../api/operations.ts"
import { useMe } from "../api/session.ts"
import type { TableColumn } from "../parts/data-table.tsx"
import { DataTable } from "../parts/data-table.tsx"
import { EmptyState } from "../parts/empty-state.tsx"
import { shortId } from "../parts/id.tsx"
import { QueryView } from "../parts/query-view.tsx"
import { SealStateBadge } from "../parts/seal-state.tsx"
import { useShellCommand } from "../parts/shell-command.ts"
import { StatusBadge } from "../parts/status-badge.tsx"
import { Time } from "../parts/time.tsx"

/** The installed apps and their updates. */
export function AppsTab() {
  const list = useOperationQuery<AppList>("app-list")
  return <QueryView query={list}>{(found) => <Apps {...found} />}</QueryView>
}

function Apps({ apps, updates }: AppList) {
  const { personId } = useMe()
  const commandFor = useShellCommand()
  const updateOf = (installId: string): AppUpdate | undefined =>
    updates.find((one) => one.installId === installId && one.kind === "app")
  const columns: readonly TableColumn<InstalledApp>[] = [
    { title: "App", cell: ({ installId }) => shortId(installId) },
    { title: "Version", cell: ({ version }) => version, sortBy: ({ version }) => version },
    {
      title: "Runs on",
      isHiddenOnNarrow: true,
      cell: ({ platform }) => platform ?? "–",
      sortBy: ({ platform }) => platform ?? "",
    },
    { title: "Core", isHiddenOnNarrow: true, cell: ({ seal }) => <SealStateBadge seal={seal} /> },
    {
      title: "Last update",
      cell: ({ installId }) => <Update update={updateOf(installId)} />,
    },
    {
      title: "Checked in",
      isHiddenOnNarrow: true,
      cell: ({ checkedInAt }) => <Time at={checkedInAt} />,
      sortBy: ({ checkedInAt }) => checkedInAt,
    },
  ]
  return (
    <DataTable
      label="Installed apps"
      columns={columns}
      rows={apps}
      rowKey={({ installId }) => installId}
      place={({ installId }) => ({ to: `settings/apps/${installId}` })}
      empty={
        <EmptyState
          title="No app has checked in yet"
          description="An app shows a code when it is installed. After an owner approves it, it checks in daily and appears here."
          command={commandFor("connect approve CODE", `--person ${personId}`)}
        />
      }
    />
  )
}

function Update({ update }: { readonly update: AppUpdate | undefined }) {
  if (update === undefined) return <>–</>
  const [tone, word] = UPDATE_STATUS_LABELS[update.status]
  return (
    <>
      <StatusBadge tone={tone}>{word}</StatusBadge>{" "}
      <Text span size="xs" c="dimmed">
        {update.version}
      </Text>
    </>
  )
}
