import { Alert, Stack } from "@mantine/core"
import { useParams } from "@tanstack/react-router"
import type { Schema } from "../../api/company.ts"
import { useFound } from "../../api/company.ts"
import { holds, useMe } from "../../api/session.ts"
import { Conversation } from "../../parts/conversation.tsx"
import { Empty } from "../../parts/empty.tsx"
import { TextLink } from "../../parts/link.tsx"
import { Loaded } from "../../parts/loaded.tsx"
import { Page } from "../../parts/page.tsx"
import { Pager } from "../../parts/pager.tsx"
import { phoneText } from "../../parts/phone-text.ts"
import { Time } from "../../parts/time.tsx"
import { AddOptOut } from "./opt-out-changes.tsx"
import { SendText } from "./send-text.tsx"
import { TextStatus } from "./text-status.tsx"
import { otherOf, useTexts } from "./texts.tsx"

/** What was texted with one number. */
export default function TextsWith() {
  const { number = "" } = useParams({ strict: false })
  const optOut = useOptOut(number)
  const found = useTexts()
  const isManager = holds(useMe(), "Manage phone")
  const isOut = optOut?.status === "out"
  return (
    <Page
      title={phoneText(number)}
      says={
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
      <Loaded of={found} lines={8}>
        {({ messages, nextCursor }) => (
          <Said
            messages={messages.filter((one) => otherOf(one) === number)}
            next={nextCursor ?? null}
          />
        )}
      </Loaded>
    </Page>
  )
}

function useOptOut(number: string): Schema<"OptOut"> | undefined {
  const { data } = useFound(["listOptOuts"], (api) => api.GET("/api/v1/phone/opt-outs"))
  return data?.optOuts.find(({ phone }) => phone === number)
}

function OptedOut({ optOut }: { readonly optOut: Schema<"OptOut"> }) {
  return (
    <Alert color="orange" variant="light" title="This number may not be texted">
      {optOut.source === "text" ? "They texted STOP" : "It was added by your company"}{" "}
      <Time at={optOut.since} />.{" "}
      {optOut.source === "text"
        ? "Only they can undo that, by texting START."
        : "It can be undone among the opt-outs."}
    </Alert>
  )
}

function Said({
  messages,
  next,
}: {
  readonly messages: readonly Schema<"Message">[]
  readonly next: string | null
}) {
  return (
    <Stack>
      {messages.length === 0 ? (
        <Empty
          title="No texts with this number here"
          says="What you send it, and what it texts you, stands here. Older texts are on earlier pages."
        />
      ) : (
        <Conversation
          label="Texts"
          sayings={messages.map((text) => ({
            id: text.id,
            isOurs: text.direction === "out",
            text: text.body ?? "Erased",
            beneath: (
              <>
                <Time at={text.createdAt} /> · <TextStatus text={text} />
              </>
            ),
          }))}
        />
      )}
      <Pager count={messages.length} next={next} />
    </Stack>
  )
}
