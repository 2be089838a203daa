import { useParams } from "@tanstack/react-router"
import type { PushRecord, PushList } from "../api/code-answers.ts"
import { useNames } from "../api/names.ts"
import { useOperationQuery } from "../api/operations.ts"
import { sizeText } from "../parts/size-text.ts"
import { EmptyState } from "../parts/empty-state.tsx"
import { DetailList } from "../parts/detail-list.tsx"
import { Id } from "../parts/id.tsx"
import { TextLink } from "../parts/link.tsx"
import { QueryView } from "../parts/query-view.tsx"
import { PageLayout, Section } from "../parts/page-layout.tsx"
import { PushStatusBadge } from "../parts/push-status.tsx"
import { pusherText } from "../parts/push-table.tsx"
import { RefusedPushDetails } from "../parts/refused-push.tsx"
import { TextView } from "../parts/text-view.tsx"
import { Time } from "../parts/time.tsx"

/** One push: what it moved, or why it was refused. */
export default function PushPage() {
  const { revision = "" } = useParams({ strict: false })
  const place = /^\d{1,15}$/.test(revision) ? Number(revision) : -1
  const list = useOperationQuery<PushList>("code-pushes", { before: place + 1, limit: 1 })
  return (
    <QueryView query={list}>
      {({ pushes: [push] }) =>
        push === undefined || push.revision !== place ? (
          <PageLayout title="Push">
            <EmptyState
              title="There is no such push"
              description="The list of pushes has all that there are."
            />
          </PageLayout>
        ) : (
          <PushContent push={push} />
        )
      }
    </QueryView>
  )
}

function PushContent({ push }: { readonly push: PushRecord }) {
  const names = useNames()
  const { pushId, at, status, objects, bytes, lines } = push
  return (
    <PageLayout
      title="Push"
      description={
        <>
          <Id id={pushId} /> to the{" "}
          <TextLink to="code" search={{ tab: "pushes" }}>
            code
          </TextLink>
        </>
      }
    >
      <DetailList
        items={[
          ["Status", <PushStatusBadge key="status" status={status} />],
          ["When", <Time key="at" at={at} isWhole />],
          ["By", pusherText(push, names)],
          ...(status === "refused"
            ? []
            : ([
                ["Objects", objects.toLocaleString("en-US")],
                ["Size", sizeText(bytes)],
              ] as const)),
        ]}
      />
      {status === "refused" ? (
        <Section title="Why it was refused" description="As whoever pushed was told.">
          {lines === null ? "That was erased." : <RefusedPushDetails lines={lines} />}
        </Section>
      ) : (
        <TextView title="Branches and tags that it moved" text={lines?.join("\n") ?? "Erased"} />
      )}
    </PageLayout>
  )
}
