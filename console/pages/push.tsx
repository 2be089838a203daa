import { useParams } from "@tanstack/react-router"
import type { Push, PushList } from "../api/code-answers.ts"
import { useNames } from "../api/names.ts"
import { useAnswer } from "../api/operations.ts"
import { sizeText } from "../parts/bytes.ts"
import { Empty } from "../parts/empty.tsx"
import { Facts } from "../parts/facts.tsx"
import { Id } from "../parts/id.tsx"
import { TextLink } from "../parts/link.tsx"
import { Loaded } from "../parts/loaded.tsx"
import { Page, Section } from "../parts/page.tsx"
import { PushStatus } from "../parts/push-status.tsx"
import { pusherText } from "../parts/push-table.tsx"
import { RefusedPush } from "../parts/refused-push.tsx"
import { TextView } from "../parts/text-view.tsx"
import { Time } from "../parts/time.tsx"

/** One push: what it moved, or why it was refused. */
export default function PushPage() {
  const { revision = "" } = useParams({ strict: false })
  const place = /^\d{1,15}$/.test(revision) ? Number(revision) : -1
  const list = useAnswer<PushList>("code-pushes", { before: place + 1, limit: 1 })
  return (
    <Loaded of={list}>
      {({ pushes: [push] }) =>
        push === undefined || push.revision !== place ? (
          <Page title="Push">
            <Empty
              title="There is no such push"
              says="The list of pushes has all that there are."
            />
          </Page>
        ) : (
          <Shown push={push} />
        )
      }
    </Loaded>
  )
}

function Shown({ push }: { readonly push: Push }) {
  const names = useNames()
  const { pushId, at, status, objects, bytes, lines } = push
  return (
    <Page
      title="Push"
      says={
        <>
          <Id id={pushId} /> to the{" "}
          <TextLink to="code" search={{ tab: "pushes" }}>
            code
          </TextLink>
        </>
      }
    >
      <Facts
        of={[
          ["Status", <PushStatus key="status" status={status} />],
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
        <Section title="Why it was refused" says="As whoever pushed was told.">
          {lines === null ? "That was erased." : <RefusedPush lines={lines} />}
        </Section>
      ) : (
        <TextView title="Branches and tags that it moved" text={lines?.join("\n") ?? "Erased"} />
      )}
    </Page>
  )
}
