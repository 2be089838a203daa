import { useQuery } from "@tanstack/react-query"
import { useParams } from "@tanstack/react-router"
import type { AppList, AppUpdate, InstalledApp } from "../api/apps.ts"
import { UPDATE_STATUS_LABELS } from "../api/apps.ts"
import { responseData, useApi } from "../api/api-client.ts"
import { useOperationQuery } from "../api/operations.ts"
import { useMe } from "../api/session.ts"
import { CopyCommandButton, curlOf } from "../parts/copy-command.tsx"
import { DataTable } from "../parts/data-table.tsx"
import { EmptyState } from "../parts/empty-state.tsx"
import { DetailList } from "../parts/detail-list.tsx"
import { Id } from "../parts/id.tsx"
import { QueryView } from "../parts/query-view.tsx"
import { PageLayout, Section } from "../parts/page-layout.tsx"
import { SealStateBadge } from "../parts/seal-state.tsx"
import { StatusBadge } from "../parts/status-badge.tsx"
import { Time } from "../parts/time.tsx"

/** An installed app: its report, its updates and newer releases. */
export default function InstalledAppPage() {
  const { installId } = useParams({ strict: false })
  const list = useOperationQuery<AppList>("app-list")
  return (
    <QueryView query={list}>
      {({ apps, updates }) => {
        const found = apps.find((one) => one.installId === installId)
        return found === undefined ? (
          <EmptyState title="No such app" description="An app appears after its first check-in." />
        ) : (
          <InstalledAppContent
            found={found}
            updates={updates.filter((one) => one.installId === installId)}
          />
        )
      }}
    </QueryView>
  )
}

interface ShownProps {
  readonly found: InstalledApp
  readonly updates: readonly AppUpdate[]
}

function InstalledAppContent({ found, updates }: ShownProps) {
  const { installId, version, platform, seal, checkedInAt, counts } = found
  return (
    <PageLayout title={`App ${version}`} description={<Id id={installId} />}>
      <DetailList
        items={[
          ["Version", version],
          ["Runs on", platform],
          ["Core", <SealStateBadge key="seal" seal={seal} />],
          ["Checked in", <Time key="at" at={checkedInAt} isWhole />],
          ...Object.entries(counts).flatMap(([name, count]) =>
            count === null ? [] : [[countText(name), count.toLocaleString("en-US")] as const],
          ),
        ]}
      />
      <Section title="Last updates">
        <DataTable
          label="Updates"
          rows={updates}
          rowKey={({ kind }) => kind}
          columns={[
            { title: "Component", cell: ({ kind }) => (kind === "app" ? "App" : "Launcher") },
            { title: "Version", cell: (one) => one.version },
            {
              title: "Status",
              cell: ({ status }) => (
                <StatusBadge tone={UPDATE_STATUS_LABELS[status][0]}>
                  {UPDATE_STATUS_LABELS[status][1]}
                </StatusBadge>
              ),
            },
            {
              title: "Reason",
              isHiddenOnNarrow: true,
              cell: ({ reason }) => reason?.replaceAll("_", " ") ?? "–",
            },
            {
              title: "Reported",
              isHiddenOnNarrow: true,
              cell: ({ reportedAt }) => <Time at={reportedAt} />,
            },
          ]}
          empty={
            <EmptyState
              title="No updates yet"
              description="Updates of the app and its launcher appear here, as the app reports them."
            />
          }
        />
      </Section>
      <NewerReleases version={version} />
    </PageLayout>
  )
}

/** Releases of the company's channel that are newer than the app. */
function NewerReleases({ version }: { readonly version: string }) {
  const { companyId } = useMe()
  const api = useApi()
  const query = { version }
  const found = useQuery({
    queryKey: [companyId, "updates", version],
    queryFn: () => responseData(api.GET("/api/v1/updates", { params: { query } })),
  })
  return (
    <Section
      title="Newer releases"
      description="In the company's channel, oldest first."
      actions={
        <CopyCommandButton
          what="curl"
          command={curlOf(`/api/v1/updates?version=${encodeURIComponent(version)}`)}
        />
      }
    >
      <QueryView query={found}>
        {({ updates }) => (
          <DataTable
            label="Newer releases"
            rows={updates}
            rowKey={(one) => one.version}
            columns={[
              { title: "Version", cell: (one) => one.version },
              { title: "What is new", cell: ({ notes }) => notes },
              {
                title: "Required",
                isHiddenOnNarrow: true,
                cell: ({ required }) => (required ? "Yes" : "No"),
              },
              {
                title: "Published",
                isHiddenOnNarrow: true,
                cell: ({ publishedAt }) => <Time at={publishedAt} />,
              },
            ]}
            empty={
              <EmptyState
                title="Up to date"
                description="The company's channel has no newer release."
              />
            }
          />
        )}
      </QueryView>
    </Section>
  )
}

/** `peopleActive` is `People active`. */
function countText(name: string): string {
  const words = name
    .replaceAll("_", " ")
    .replaceAll(/([a-z])([A-Z])/g, "$1 $2")
    .toLowerCase()
  return words.charAt(0).toUpperCase() + words.slice(1)
}
