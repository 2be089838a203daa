import { Alert, Stack, Text } from "@mantine/core"
import { useQuery } from "@tanstack/react-query"
import { useParams } from "@tanstack/react-router"
import type { ChargeList } from "../api/answers.ts"
import type { PublishLog } from "../api/code-answers.ts"
import type { Schema } from "../api/api-client.ts"
import { responseData, useApi } from "../api/api-client.ts"
import { useNames } from "../api/names.ts"
import { useOperationQuery, useCanRun } from "../api/operations.ts"
import { useMe } from "../api/session.ts"
import { CopyCommandButton, curlOf } from "../parts/copy-command.tsx"
import { EmptyState } from "../parts/empty-state.tsx"
import { DetailList } from "../parts/detail-list.tsx"
import { Id } from "../parts/id.tsx"
import { TextLink } from "../parts/link.tsx"
import { WebLink } from "../parts/web-link.tsx"
import { QueryView } from "../parts/query-view.tsx"
import { Money } from "../parts/money.tsx"
import { PageLayout, Section } from "../parts/page-layout.tsx"
import { IN_PROGRESS_STATUSES, PublishStatusBadge } from "../parts/publish-status.tsx"
import { TextView } from "../parts/text-view.tsx"
import { Time } from "../parts/time.tsx"

type Publish = Schema<"Publish">

const POLL_INTERVAL_MS = 3_000

/** A publish: status, cost and logs. */
export default function PublishPage() {
  const { publishId = "" } = useParams({ strict: false })
  const { companyId } = useMe()
  const api = useApi()
  const params = { path: { id: publishId } }
  const found = useQuery({
    queryKey: [companyId, "publishes", publishId],
    queryFn: () => responseData(api.GET("/api/v1/publish/{id}", { params })),
    refetchInterval: ({ state }) =>
      state.data !== undefined && IN_PROGRESS_STATUSES.has(state.data.status)
        ? POLL_INTERVAL_MS
        : false,
  })
  return (
    <PageLayout
      title="Publish"
      description={
        <>
          <Id id={publishId} /> of the <TextLink to="previews">previews</TextLink>
        </>
      }
      actions={<CopyCommandButton what="curl" command={curlOf(`/api/v1/publish/${publishId}`)} />}
    >
      <QueryView query={found}>{(publish) => <PublishContent publish={publish} />}</QueryView>
    </PageLayout>
  )
}

function PublishContent({ publish }: { readonly publish: Publish }) {
  const { id, status, commit, address, createdAt, finishedAt, error } = publish
  const { person, key } = useNames()
  const mayLog = useCanRun("publish-log")
  const input = { item: "deploy", limit: 200 }
  const charges = useOperationQuery<ChargeList>(
    "charge-list",
    input,
    useCanRun("charge-list", true),
  ).data
  const charge = charges?.charges.find(({ resource }) => resource === id)
  return (
    <>
      <DetailList
        items={[
          ["Status", <PublishStatusBadge key="status" status={status} />],
          ["Commit", <Id key="commit" id={commit} />],
          [
            "Address",
            <WebLink key="address" address={`${window.location.protocol}//${address}/`} />,
          ],
          ["Requested", <Time key="asked" at={createdAt} isWhole />],
          ["Finished", <Time key="ended" at={finishedAt} isWhole />],
          ["By", charge === undefined ? null : person(charge.personId)],
          ["Key", <KeyLink key="key" keyId={charge?.keyId ?? null} name={key} />],
          [
            "Cost",
            charge === undefined ? null : (
              <TextLink key="cost" to={`spending/${charge.chargeId}`}>
                <Money micros={charge.amountMicros - charge.refundedMicros} />
              </TextLink>
            ),
          ],
        ]}
      />
      {error === null ? null : (
        <Alert color="red" variant="light" title={error.split("\n", 1)[0]}>
          <Text size="sm">
            The charge was refunded. Fix the error in the log, push, and publish the new commit.
          </Text>
        </Alert>
      )}
      {mayLog ? <Log publishId={id} status={status} /> : null}
    </>
  )
}

interface KeyLinkProps {
  readonly keyId: string | null
  readonly name: (keyId: string | null) => string
}

function KeyLink({ keyId, name }: KeyLinkProps) {
  return keyId === null ? <>–</> : <TextLink to={`keys/${keyId}`}>{name(keyId)}</TextLink>
}

function Log({
  publishId,
  status,
}: {
  readonly publishId: string
  readonly status: Publish["status"]
}) {
  const log = useOperationQuery<PublishLog>(
    "publish-log",
    { publishId },
    !IN_PROGRESS_STATUSES.has(status),
  )
  if (IN_PROGRESS_STATUSES.has(status)) {
    return (
      <Section title="Log">
        <EmptyState
          title="In progress"
          description="The build log appears here when the build has ended."
        />
      </Section>
    )
  }
  return (
    <Section title="Log" description="The first and last MiB of a build log are kept for 30 days.">
      <QueryView query={log}>{(parts) => <LogParts {...parts} />}</QueryView>
    </Section>
  )
}

function LogParts({ build, start, app }: PublishLog) {
  const parts = [
    ["Build", build],
    ["Start", start],
    [`App: ${app?.status === "running" ? "running" : "down"}`, app?.log ?? null],
  ] as const
  const shown = parts.filter(([, text]) => text !== null && text.trim() !== "")
  if (shown.length === 0) {
    return <EmptyState title="No log" description="The log is empty, or no longer kept." />
  }
  return (
    <Stack>
      {shown.map(([title, text]) => (
        <TextView key={title} title={title} text={text?.trimEnd() ?? ""} isLog />
      ))}
    </Stack>
  )
}
