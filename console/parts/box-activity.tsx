import { Code } from "@mantine/core"
import { useQuery } from "@tanstack/react-query"
import type { Schema } from "../api/api-client.ts"
import { responseData, useApi } from "../api/api-client.ts"
import { useNames } from "../api/names.ts"
import { useMe } from "../api/session.ts"
import type { TableColumn } from "./data-table.tsx"
import { DataTable } from "./data-table.tsx"
import { QueryView } from "./query-view.tsx"
import styles from "./parts.module.css"
import { Time } from "./time.tsx"

type BoxEvent = Schema<"BoxEvent">

const ACTION_LABELS: Readonly<Record<BoxEvent["action"], string>> = {
  start: "Started",
  exec: "Ran a command",
  start_process: "Ran in the background",
  stop_process: "Stopped a command",
  write_file: "Wrote a file",
  delete_file: "Deleted a file",
  open_preview: "Opened a port",
  preview: "Visit of a port",
  close_preview: "Closed a port",
  push: "Pushed",
  stop: "Stopped",
  notice: "Notice",
}

/** The activity log of a box, newest first. */
export function BoxActivityLog({ boxId }: { readonly boxId: string }) {
  const { companyId } = useMe()
  const api = useApi()
  const { key } = useNames()
  const found = useQuery({
    queryKey: [companyId, "boxes", boxId, "activity"],
    queryFn: () =>
      responseData(api.GET("/api/v1/sandboxes/{id}/events", { params: { path: { id: boxId } } })),
  })
  const columns: readonly TableColumn<BoxEvent>[] = [
    { title: "When", cell: ({ at }) => <Time at={at} /> },
    { title: "Action", cell: ({ action }) => ACTION_LABELS[action] },
    {
      title: "Detail",
      isHiddenOnNarrow: true,
      cell: ({ detail }) => (detail === null ? "–" : <Code className={styles.code}>{detail}</Code>),
    },
    { title: "Result", cell: ({ result }) => result },
    { title: "Key", isHiddenOnNarrow: true, cell: ({ apiKeyId }) => key(apiKeyId) },
  ]
  return (
    <QueryView query={found}>
      {({ events }) => (
        <DataTable
          label="Activity"
          columns={columns}
          rows={events}
          empty={null}
          rowKey={({ at, action, detail }) => `${at} ${action} ${detail}`}
        />
      )}
    </QueryView>
  )
}
