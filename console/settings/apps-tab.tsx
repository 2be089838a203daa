import { Text } from "@mantine/core"
import type { AppList, AppUpdate, InstalledApp } from "../api/apps.ts"
import { UPDATE_WORDS } from "../api/apps.ts"
import { useAnswer } from "../api/operations.ts"
import { useMe } from "../api/session.ts"
import type { Column } from "../parts/data-table.tsx"
import { DataTable } from "../parts/data-table.tsx"
import { Empty } from "../parts/empty.tsx"
import { shortId } from "../parts/id.tsx"
import { Loaded } from "../parts/loaded.tsx"
import { SealState } from "../parts/seal-state.tsx"
import { useShellCommand } from "../parts/shell-command.ts"
import { Status } from "../parts/status.tsx"
import { Time } from "../parts/time.tsx"

/** The installed apps, and how their updates stand. */
export function AppsTab() {
  const list = useAnswer<AppList>("app-list")
  return <Loaded of={list}>{(found) => <Apps {...found} />}</Loaded>
}

function Apps({ apps, updates }: AppList) {
  const { personId } = useMe()
  const commandFor = useShellCommand()
  const updateOf = (installId: string): AppUpdate | undefined =>
    updates.find((one) => one.installId === installId && one.kind === "app")
  const columns: readonly Column<InstalledApp>[] = [
    { title: "App", cell: ({ installId }) => shortId(installId) },
    { title: "Version", cell: ({ version }) => version, sortBy: ({ version }) => version },
    {
      title: "Runs on",
      isWide: true,
      cell: ({ platform }) => platform ?? "–",
      sortBy: ({ platform }) => platform ?? "",
    },
    { title: "Core", isWide: true, cell: ({ seal }) => <SealState seal={seal} /> },
    {
      title: "Last update",
      cell: ({ installId }) => <Update update={updateOf(installId)} />,
    },
    {
      title: "Checked in",
      isWide: true,
      cell: ({ checkedInAt }) => <Time at={checkedInAt} />,
      sortBy: ({ checkedInAt }) => checkedInAt,
    },
  ]
  return (
    <DataTable
      {...{ label: "Installed apps", columns, rows: apps }}
      rowKey={({ installId }) => installId}
      place={({ installId }) => ({ to: `settings/apps/${installId}` })}
      empty={
        <Empty
          title="No app has checked in yet"
          says="An app shows a code when it is installed. Once an owner approves it, it checks in once a day and stands here."
          command={commandFor("connect approve CODE", `--person ${personId}`)}
        />
      }
    />
  )
}

function Update({ update }: { readonly update: AppUpdate | undefined }) {
  if (update === undefined) return <>–</>
  const [tone, word] = UPDATE_WORDS[update.status]
  return (
    <>
      <Status tone={tone}>{word}</Status>{" "}
      <Text span size="xs" c="dimmed">
        {update.version}
      </Text>
    </>
  )
}
