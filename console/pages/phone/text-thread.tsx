import { Alert, Stack } from "@mantine/core"
import { useParams } from "@tanstack/react-router"
import type { Schema } from "../../api/api-client.ts"
import { useApiQuery } from "../../api/api-client.ts"
import { hasPermission, useMe } from "../../api/session.ts"
import { MessageThread } from "../../parts/message-thread.tsx"
import { EmptyState } from "../../parts/empty-state.tsx"
import { TextLink } from "../../parts/link.tsx"
import { QueryView } from "../../parts/query-view.tsx"
import { PageLayout } from "../../parts/page-layout.tsx"
import { Pager } from "../../parts/pager.tsx"
import { phoneText } from "../../parts/phone-text.ts"
import { Time } from "../../parts/time.tsx"
import { AddOptOut } from "./opt-out-changes.tsx"
import { SendText } from "./send-text.tsx"
import { TextStatusBadge } from "./text-status.tsx"
import { otherParty, useTexts } from "./texts.tsx"

/** The texts with one number. */
export default function TextThreadPage() {
  const { number = "" } = useParams({ strict: false })
  const optOut = useOptOut(number)
  const found = useTexts()
  const isManager = hasPermission(useMe(), "Manage phone")
  const isOut = optOut?.status === "out"
  return (
    <PageLayout
      title={phoneText(number)}
      description={
        <TextLink to="phone" search={{ tab: "texts" }}>
          All texts
        </TextLink>
      }
      actions={
        <>
          {isManager && !isOut ? <AddOptOut phone={number} /> : null}
          {isOut ? null : <SendText to={number} label="Reply" />}
        </>
      }
    >
      {isOut ? <OptedOut optOut={optOut} /> : null}
      <QueryView query={found} lines={8}>
        {({ messages, nextCursor }) => (
          <TextThread
            messages={messages.filter((one) => otherParty(one) === number)}
            next={nextCursor ?? null}
          />
        )}
      </QueryView>
    </PageLayout>
  )
}

function useOptOut(number: string): Schema<"OptOut"> | undefined {
  const { data } = useApiQuery(["listOptOuts"], (api) => api.GET("/api/v1/phone/opt-outs"))
  return data?.optOuts.find(({ phone }) => phone === number)
}

function OptedOut({ optOut }: { readonly optOut: Schema<"OptOut"> }) {
  return (
    <Alert color="orange" variant="light" title="This number must not be texted">
      {optOut.source === "text" ? "The person texted STOP" : "Your company added it"}{" "}
      <Time at={optOut.since} />.{" "}
      {optOut.source === "text"
        ? "Only the person can undo that, by texting START."
        : "Undo it in the tab Opt-outs."}
    </Alert>
  )
}

function TextThread({
  messages,
  next,
}: {
  readonly messages: readonly Schema<"Message">[]
  readonly next: string | null
}) {
  return (
    <Stack>
      {messages.length === 0 ? (
        <EmptyState
          title="No texts with this number on this page"
          description="Texts to and from this number appear here. Older texts are on earlier pages."
        />
      ) : (
        <MessageThread
          label="Texts"
          sayings={messages.map((text) => ({
            id: text.id,
            isOurs: text.direction === "out",
            text: text.body ?? "Erased",
            footer: (
              <>
                <Time at={text.createdAt} /> · <TextStatusBadge text={text} />
              </>
            ),
          }))}
        />
      )}
      <Pager count={messages.length} next={next} />
    </Stack>
  )
}
