import { Box } from "@mantine/core"
import { useQuery } from "@tanstack/react-query"
import type { ChargeList } from "../api/answers.ts"
import type { PreviewDetails, RepositoryDetails } from "../api/code-answers.ts"
import type { Schema } from "../api/api-client.ts"
import { responseData, useApi } from "../api/api-client.ts"
import { useNames } from "../api/names.ts"
import { useOperationQuery, useCanRun } from "../api/operations.ts"
import { useMe } from "../api/session.ts"
import { ActionButton } from "../parts/action-button.tsx"
import { sizeText } from "../parts/size-text.ts"
import { CopyCommandButton, curlOf, curlOfChange } from "../parts/copy-command.tsx"
import type { TableColumn } from "../parts/data-table.tsx"
import { DataTable } from "../parts/data-table.tsx"
import { EmptyState } from "../parts/empty-state.tsx"
import { DetailList } from "../parts/detail-list.tsx"
import { FilterBar } from "../parts/filter-bar.tsx"
import { useFilters } from "../parts/filters.ts"
import { Id } from "../parts/id.tsx"
import { TextLink } from "../parts/link.tsx"
import { WebLink } from "../parts/web-link.tsx"
import { QueryView } from "../parts/query-view.tsx"
import { Money } from "../parts/money.tsx"
import { PageLayout, Section } from "../parts/page-layout.tsx"
import {
  IN_PROGRESS_STATUSES,
  PUBLISH_STATUS_LABELS,
  PublishStatusBadge,
} from "../parts/publish-status.tsx"
import { StatusBadge } from "../parts/status-badge.tsx"
import { TextView } from "../parts/text-view.tsx"
import { Time } from "../parts/time.tsx"

type Publish = Schema<"Publish">

const POLL_INTERVAL_MS = 3_000
const MAX_CHARGES = 200

/** The company's preview and its publishes. */
export default function PreviewsPage() {
  const { companyId, company } = useMe()
  const api = useApi()
  const list = useQuery({
    queryKey: [companyId, "publishes"],
    queryFn: () => responseData(api.GET("/api/v1/publish")),
    // Polls while a publish is in progress.
    refetchInterval: ({ state }) =>
      state.data?.publishes.some(({ status }) => IN_PROGRESS_STATUSES.has(status)) === true
        ? POLL_INTERVAL_MS
        : false,
  })
  return (
    <PageLayout
      title="Previews"
      description="Commits of the code, published for the company's people only."
      actions={
        <>
          <CopyCommandButton what="curl" command={curlOf("/api/v1/publish")} />
          <ActionButton
            operation="preview-reset"
            input={{ company: companyId }}
            confirmationText={company ?? companyId}
            label="Reset the preview"
            description="Empties the preview's database and storage. The live publish stays, and starts again with the next visit."
            successMessage="The preview's database and storage are empty."
            isDangerous
          />
        </>
      }
    >
      <Preview />
      <QueryView query={list}>{({ publishes }) => <List publishes={publishes} />}</QueryView>
      <HowToPublish />
    </PageLayout>
  )
}

/** The preview's address and live publish. */
function Preview() {
  const may = useCanRun("preview-show")
  const found = useOperationQuery<PreviewDetails>("preview-show", {}, may)
  if (!may) return null
  return (
    <QueryView query={found} lines={2}>
      {({ url, live, apps, bytes }) => (
        <DetailList
          items={[
            ["Address", <WebLink key="url" address={url} />],
            [
              "Live",
              live === null ? (
                "Nothing yet"
              ) : (
                <TextLink key="live" to={`previews/${live.publishId}`}>
                  {live.kind === "static" ? "Static site" : "App"}
                </TextLink>
              ),
            ],
            ["App", <AppStatus key="app" live={live} apps={apps} />],
            ["Database and storage", bytes === null ? "None yet" : sizeText(bytes)],
          ]}
        />
      )}
    </QueryView>
  )
}

function AppStatus({ live, apps }: Pick<PreviewDetails, "live" | "apps">) {
  if (live === null || live.kind === "static") return <>Not needed</>
  const isUp = apps?.some(({ publishId, status }) => {
    return publishId === live.publishId && status === "running"
  })
  return isUp === true ? (
    <StatusBadge tone="good">Running</StatusBadge>
  ) : (
    <StatusBadge tone="quiet">Asleep until the next visit</StatusBadge>
  )
}

function List({ publishes }: { readonly publishes: readonly Publish[] }) {
  const [{ status }] = useFilters()
  const { person } = useNames()
  const charges = useCharges()
  const columns: readonly TableColumn<Publish>[] = [
    { title: "Requested", cell: ({ createdAt }) => <Time at={createdAt} /> },
    { title: "Status", cell: (one) => <PublishStatusBadge status={one.status} /> },
    { title: "Commit", cell: ({ commit }) => <Id id={commit} /> },
    {
      title: "By",
      isHiddenOnNarrow: true,
      cell: ({ id }) => person(charges.get(id)?.personId ?? null),
    },
    {
      title: "Finished",
      isHiddenOnNarrow: true,
      cell: ({ finishedAt }) => <Time at={finishedAt} />,
    },
    {
      title: "Cost",
      isNumber: true,
      isHiddenOnNarrow: true,
      cell: ({ id }) => <Cost charge={charges.get(id)} />,
    },
  ]
  return (
    <Section title="Publishes" description="The newest 50. Failed publishes are free.">
      <Box mb="sm">
        <FilterBar
          filters={[
            { name: "status", label: "Status", options: Object.entries(PUBLISH_STATUS_LABELS) },
          ]}
        />
      </Box>
      <DataTable
        label="Publishes"
        columns={columns}
        rows={publishes.filter((one) => status === undefined || one.status === status)}
        rowKey={({ id }) => id}
        place={({ id }) => ({ to: `previews/${id}` })}
        empty={
          <EmptyState
            title={status === undefined ? "No publishes yet" : "No matching publishes"}
            description="A publish builds a commit and shows it in the company's preview. Publish with a key, as below."
          />
        }
      />
    </Section>
  )
}

type Charge = ChargeList["charges"][number]

function Cost({ charge }: { readonly charge: Charge | undefined }) {
  return charge === undefined ? (
    <>–</>
  ) : (
    <TextLink to={`spending/${charge.chargeId}`}>
      <Money micros={charge.amountMicros - charge.refundedMicros} />
    </TextLink>
  )
}

/** The charges of publishes by publish id, as far as the reader may see them. */
function useCharges(): ReadonlyMap<string | null, Charge> {
  const input = { item: "deploy", limit: MAX_CHARGES }
  const found = useOperationQuery<ChargeList>("charge-list", input, useCanRun("charge-list", true))
  return new Map((found.data?.charges ?? []).map((charge) => [charge.resource, charge]))
}

function HowToPublish() {
  const mayRead = useCanRun("repository-show")
  const code = useOperationQuery<RepositoryDetails>("repository-show", {}, mayRead).data
  const tip = code?.refs.find(({ kind, name }) => kind === "branch" && name === code.branch)
  const commit = tip?.id ?? "COMMIT"
  return (
    <Section
      title="Publish"
      description="Publish with a key that has the operation code.publish.preview, not in the console. AI clients have a tool for it."
    >
      <TextView
        title={
          tip === undefined ? "With the API" : `With the API: the newest commit of ${code?.branch}`
        }
        text={curlOfChange({ method: "POST", path: "/api/v1/publish/preview", body: { commit } })}
      />
    </Section>
  )
}
