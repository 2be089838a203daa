import { useQuery } from "@tanstack/react-query"
import { useParams } from "@tanstack/react-router"
import type { AppList, AppUpdate, InstalledApp } from "../api/apps.ts"
import { UPDATE_WORDS } from "../api/apps.ts"
import { answerOf, useApi } from "../api/company.ts"
import { useAnswer } from "../api/operations.ts"
import { useMe } from "../api/session.ts"
import { CopyAs, curlOf } from "../parts/copy-as.tsx"
import { DataTable } from "../parts/data-table.tsx"
import { Empty } from "../parts/empty.tsx"
import { Facts } from "../parts/facts.tsx"
import { Id } from "../parts/id.tsx"
import { Loaded } from "../parts/loaded.tsx"
import { Page, Section } from "../parts/page.tsx"
import { SealState } from "../parts/seal-state.tsx"
import { Status } from "../parts/status.tsx"
import { Time } from "../parts/time.tsx"

/** One installed app: what it said of itself, its updates, and the releases it has not taken. */
export default function InstalledAppPage() {
  const { installId } = useParams({ strict: false })
  const list = useAnswer<AppList>("app-list")
  return (
    <Loaded of={list}>
      {({ apps, updates }) => {
        const found = apps.find((one) => one.installId === installId)
        return found === undefined ? (
          <Empty
            title="There is no such app"
            says="An app is known from the first day on which it checks in."
          />
        ) : (
          <Shown found={found} updates={updates.filter((one) => one.installId === installId)} />
        )
      }}
    </Loaded>
  )
}

interface ShownProps {
  readonly found: InstalledApp
  readonly updates: readonly AppUpdate[]
}

function Shown({ found, updates }: ShownProps) {
  const { installId, version, platform, seal, checkedInAt, counts } = found
  return (
    <Page title={`App ${version}`} says={<Id id={installId} />}>
      <Facts
        of={[
          ["Version", version],
          ["Runs on", platform],
          ["Core", <SealState key="seal" seal={seal} />],
          ["Checked in", <Time key="at" at={checkedInAt} isWhole />],
          ...Object.entries(counts).flatMap(([name, count]) =>
            count === null ? [] : [[countText(name), count.toLocaleString("en-US")] as const],
          ),
        ]}
      />
      <Section title="Its last updates">
        <DataTable
          label="Updates"
          rows={updates}
          rowKey={({ kind }) => kind}
          columns={[
            { title: "Of", cell: ({ kind }) => (kind === "app" ? "The app" : "Its launcher") },
            { title: "To", cell: (one) => one.version },
            {
              title: "Status",
              cell: ({ status }) => (
                <Status tone={UPDATE_WORDS[status][0]}>{UPDATE_WORDS[status][1]}</Status>
              ),
            },
            {
              title: "Why",
              isWide: true,
              cell: ({ reason }) => reason?.replaceAll("_", " ") ?? "–",
            },
            { title: "Said", isWide: true, cell: ({ reportedAt }) => <Time at={reportedAt} /> },
          ]}
          empty={
            <Empty
              title="No update yet"
              says="How an update of the app or its launcher goes stands here, as the app says it."
            />
          }
        />
      </Section>
      <Newer version={version} />
    </Page>
  )
}

/** The releases of the company's channel that the app has not taken. */
function Newer({ version }: { readonly version: string }) {
  const { companyId } = useMe()
  const api = useApi()
  const query = { version }
  const found = useQuery({
    queryKey: [companyId, "updates", version],
    queryFn: () => answerOf(api.GET("/api/v1/updates", { params: { query } })),
  })
  return (
    <Section
      title="Newer releases"
      says="In the company's channel, the oldest first."
      actions={
        <CopyAs
          what="curl"
          command={curlOf(`/api/v1/updates?version=${encodeURIComponent(version)}`)}
        />
      }
    >
      <Loaded of={found}>
        {({ updates }) => (
          <DataTable
            label="Newer releases"
            rows={updates}
            rowKey={(one) => one.version}
            columns={[
              { title: "Version", cell: (one) => one.version },
              { title: "What is new", cell: ({ notes }) => notes },
              {
                title: "Must be taken",
                isWide: true,
                cell: ({ required }) => (required ? "Yes" : "No"),
              },
              {
                title: "Published",
                isWide: true,
                cell: ({ publishedAt }) => <Time at={publishedAt} />,
              },
            ]}
            empty={
              <Empty
                title="It is up to date"
                says="No newer release is in the company's channel."
              />
            }
          />
        )}
      </Loaded>
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
