import { Box } from "@mantine/core"
import { useQuery } from "@tanstack/react-query"
import type { ChargeList } from "../api/answers.ts"
import type { PreviewShown, RepositoryShown } from "../api/code-answers.ts"
import type { Schema } from "../api/company.ts"
import { answerOf, useApi } from "../api/company.ts"
import { useNames } from "../api/names.ts"
import { useAnswer, useMay } from "../api/operations.ts"
import { useMe } from "../api/session.ts"
import { Action } from "../parts/action.tsx"
import { sizeText } from "../parts/bytes.ts"
import { CopyAs, curlOf, curlOfChange } from "../parts/copy-as.tsx"
import type { Column } from "../parts/data-table.tsx"
import { DataTable } from "../parts/data-table.tsx"
import { Empty } from "../parts/empty.tsx"
import { Facts } from "../parts/facts.tsx"
import { FilterBar } from "../parts/filter-bar.tsx"
import { useFilters } from "../parts/filters.ts"
import { Id } from "../parts/id.tsx"
import { TextLink } from "../parts/link.tsx"
import { WebLink } from "../parts/web-link.tsx"
import { Loaded } from "../parts/loaded.tsx"
import { Money } from "../parts/money.tsx"
import { Page, Section } from "../parts/page.tsx"
import { IS_GOING, PUBLISH_WORDS, PublishStatus } from "../parts/publish-status.tsx"
import { Status } from "../parts/status.tsx"
import { TextView } from "../parts/text-view.tsx"
import { Time } from "../parts/time.tsx"

type Publish = Schema<"Publish">

const AGAIN_MS = 3_000
const MOST_CHARGES = 200

/** The company's preview, and what was published to it. */
export default function Previews() {
  const { companyId, company } = useMe()
  const api = useApi()
  const list = useQuery({
    queryKey: [companyId, "publishes"],
    queryFn: () => answerOf(api.GET("/api/v1/publish")),
    // What is being built is looked at until it is there.
    refetchInterval: ({ state }) =>
      state.data?.publishes.some(({ status }) => IS_GOING.has(status)) === true ? AGAIN_MS : false,
  })
  return (
    <Page
      title="Previews"
      says="A commit of the code, published where the company's people see it and nobody else."
      actions={
        <>
          <CopyAs what="curl" command={curlOf("/api/v1/publish")} />
          <Action
            operation="preview-reset"
            input={{ company: companyId }}
            typed={company ?? companyId}
            label="Reset the preview"
            says="The preview's database and storage are emptied. What is published stays, and begins anew with the next visit."
            done="The preview's database and storage are empty."
            isDangerous
          />
        </>
      }
    >
      <Preview />
      <Loaded of={list}>{({ publishes }) => <List publishes={publishes} />}</Loaded>
      <HowTo />
    </Page>
  )
}

/** Where the preview is, and what is live there. */
function Preview() {
  const may = useMay("preview-show")
  const found = useAnswer<PreviewShown>("preview-show", {}, may)
  if (!may) return null
  return (
    <Loaded of={found} lines={2}>
      {({ url, live, apps, bytes }) => (
        <Facts
          of={[
            ["Address", <WebLink key="url" address={url} />],
            [
              "Live",
              live === null ? (
                "Nothing yet"
              ) : (
                <TextLink key="live" to={`previews/${live.publishId}`}>
                  {live.kind === "static" ? "A site of files" : "An app"}
                </TextLink>
              ),
            ],
            ["App", <AppStatus key="app" live={live} apps={apps} />],
            ["Database and storage", bytes === null ? "None yet" : sizeText(bytes)],
          ]}
        />
      )}
    </Loaded>
  )
}

function AppStatus({ live, apps }: Pick<PreviewShown, "live" | "apps">) {
  if (live === null || live.kind === "static") return <>Files need none</>
  const isUp = apps?.some(({ publishId, status }) => {
    return publishId === live.publishId && status === "running"
  })
  return isUp === true ? (
    <Status tone="good">Runs</Status>
  ) : (
    <Status tone="quiet">Sleeps until the next visit</Status>
  )
}

function List({ publishes }: { readonly publishes: readonly Publish[] }) {
  const [{ status }] = useFilters()
  const { person } = useNames()
  const charges = useCharges()
  const columns: readonly Column<Publish>[] = [
    { title: "Asked for", cell: ({ createdAt }) => <Time at={createdAt} /> },
    { title: "Status", cell: (one) => <PublishStatus status={one.status} /> },
    { title: "Commit", cell: ({ commit }) => <Id id={commit} /> },
    { title: "By", isWide: true, cell: ({ id }) => person(charges.get(id)?.personId ?? null) },
    {
      title: "Went live or ended",
      isWide: true,
      cell: ({ finishedAt }) => <Time at={finishedAt} />,
    },
    {
      title: "Cost",
      isNumber: true,
      isWide: true,
      cell: ({ id }) => <Cost charge={charges.get(id)} />,
    },
  ]
  return (
    <Section title="Publishes" says="The newest 50. What fails costs nothing.">
      <Box mb="sm">
        <FilterBar
          filters={[{ name: "status", label: "Status", options: Object.entries(PUBLISH_WORDS) }]}
        />
      </Box>
      <DataTable
        {...{ label: "Publishes", columns }}
        rows={publishes.filter((one) => status === undefined || one.status === status)}
        rowKey={({ id }) => id}
        place={({ id }) => ({ to: `previews/${id}` })}
        empty={
          <Empty
            title={status === undefined ? "Nothing was published yet" : "No publish stands so"}
            says="A publish builds a commit and shows it at the company's preview. It is done with a key, as below."
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
      <Money micros={charge.amountMicros - charge.givenBackMicros} />
    </TextLink>
  )
}

/** What publishes cost and who asked for them, by their ids, as far as the reader sees charges. */
function useCharges(): ReadonlyMap<string | null, Charge> {
  const input = { item: "deploy", limit: MOST_CHARGES }
  const found = useAnswer<ChargeList>("charge-list", input, useMay("charge-list", true))
  return new Map((found.data?.charges ?? []).map((charge) => [charge.resource, charge]))
}

/** Publishing is a key's: with which call it is done. */
function HowTo() {
  const mayRead = useMay("repository-show")
  const code = useAnswer<RepositoryShown>("repository-show", {}, mayRead).data
  const tip = code?.refs.find(({ kind, name }) => kind === "branch" && name === code.branch)
  const commit = tip?.id ?? "COMMIT"
  return (
    <Section
      title="Publish"
      says="A key does it, with the operation code.publish.preview; the console publishes nothing itself. AI clients have it as a tool."
    >
      <TextView
        title={
          tip === undefined ? "By the API" : `By the API: the newest commit of ${code?.branch}`
        }
        text={curlOfChange({ method: "POST", path: "/api/v1/publish/preview", body: { commit } })}
      />
    </Section>
  )
}
