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

/** A push: its refs, or why it was refused. */
export default function PushPage() {
  const { revision = "" } = useParams({ strict: false })
  const position = /^\d{1,15}$/.test(revision) ? Number(revision) : -1
  const list = useOperationQuery<PushList>("code-pushes", { before: position + 1, limit: 1 })
  return (
    <QueryView query={list}>
      {({ pushes: [push] }) =>
        push === undefined || push.revision !== position ? (
          <PageLayout title="Push">
            <EmptyState title="No such push" description="Open the push from the list of pushes." />
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
        <Section
          title="Reason of the refusal"
          description="The message that the person who pushed got."
        >
          {lines === null ? "The message was erased." : <RefusedPushDetails lines={lines} />}
        </Section>
      ) : (
        <TextView title="Updated branches and tags" text={lines?.join("\n") ?? "Erased"} />
      )}
    </PageLayout>
  )
}
