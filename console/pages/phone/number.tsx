import { useNavigate, useParams } from "@tanstack/react-router"
import type { Schema } from "../../api/company.ts"
import { useFound } from "../../api/company.ts"
import { holds, useMe } from "../../api/session.ts"
import { CallDialog } from "../../parts/call-dialog.tsx"
import { Empty } from "../../parts/empty.tsx"
import { Facts } from "../../parts/facts.tsx"
import { Id } from "../../parts/id.tsx"
import { TextLink, usePlace } from "../../parts/link.tsx"
import { Loaded } from "../../parts/loaded.tsx"
import { Money } from "../../parts/money.tsx"
import { Page, Section } from "../../parts/page.tsx"
import { phoneText } from "../../parts/phone-text.ts"
import { Time } from "../../parts/time.tsx"
import { ChangeNumber } from "./change-number.tsx"
import { abilitiesText, placeText, usePhoneState } from "./state.ts"

/** One number: what it can do, what happens when somebody calls it, letting it go. */
export default function NumberPage() {
  const { numberId } = useParams({ strict: false })
  const state = usePhoneState()
  return (
    <Loaded of={state}>
      {({ numbers }) => {
        const found = numbers.find(({ id }) => id === numberId)
        return found === undefined ? (
          <Empty title="There is no such number" says="It may have been released meanwhile.">
            <TextLink to="phone">Your numbers</TextLink>
          </Empty>
        ) : (
          <Shown found={found} />
        )
      }}
    </Loaded>
  )
}

function Shown({ found }: { readonly found: Schema<"PhoneNumber"> }) {
  const { id, number, monthlyMicros, paidThrough, boughtAt, releasedUnlessPaidBy } = found
  const isManager = holds(useMe(), "Manage phone")
  const settings = useFound(["readPhoneSettings"], (api) => api.GET("/api/v1/phone/settings"))
  return (
    <Page
      title={phoneText(number)}
      says={<Id id={id} />}
      actions={isManager ? <Release id={id} number={number} /> : undefined}
    >
      <Facts
        of={[
          ["Place", placeText(found)],
          ["It can", abilitiesText(found)],
          ["A month", paidThrough === null ? "Free" : <Money key="month" micros={monthlyMicros} />],
          ["Bought", <Time key="bought" at={boughtAt} />],
          ["Paid until", <Time key="paid" at={paidThrough} />],
          ...(releasedUnlessPaidBy === null
            ? []
            : ([["Let go unless paid by", <Time key="by" at={releasedUnlessPaidBy} />]] as const)),
          [
            "Texts",
            <TextLink key="texts" to="phone" search={{ tab: "texts" }}>
              What was texted
            </TextLink>,
          ],
        ]}
      />
      <Loaded of={settings}>
        {({ numbers }) => {
          const own = numbers.find((one) => one.id === id)
          return own === undefined ? null : <SetUp settings={own} isManager={isManager} />
        }}
      </Loaded>
    </Page>
  )
}

function SetUp({
  settings,
  isManager,
}: {
  readonly settings: Schema<"NumberSettings">
  readonly isManager: boolean
}) {
  const { label, ringTo, ringMode, ringSeconds, screenCalls, recordCalls, voicemail } = settings
  const who = ringTo.map(({ phone, name }) => name ?? phoneText(phone)).join(", ")
  return (
    <Section
      title="When somebody calls"
      says={ringTo.length === 0 ? "Nobody's phone rings." : undefined}
      actions={isManager ? <ChangeNumber settings={settings} /> : undefined}
    >
      <Facts
        of={[
          ["Called here", label],
          ["Rings", who === "" ? "Nobody" : who],
          ["How", `${ringMode === "all" ? "All at once" : "One after another"}, ${ringSeconds} s`],
          ["Who answers presses 1", screenCalls ? "Yes" : "No"],
          ["Calls are recorded", recordCalls ? "Yes" : "No"],
          ["Callers can leave a message", voicemail ? "Yes" : "No"],
          ...(recordCalls
            ? ([["Notice of the recording", settings.recordingNotice]] as const)
            : []),
          ...(voicemail
            ? ([["Greeting", settings.voicemailGreeting ?? "Usual words"]] as const)
            : []),
        ]}
      />
    </Section>
  )
}

function Release({ id, number }: { readonly id: string; readonly number: string }) {
  const navigate = useNavigate()
  const placeOf = usePlace()
  return (
    <CallDialog
      label="Release"
      title={`Release ${phoneText(number)}`}
      says="The number is gone for good: others can have it, and nothing of its rent comes back."
      changeOf={() => ({ method: "POST", path: "/api/v1/phone/release", body: { id } })}
      typed={number}
      isDangerous
      does="Release"
      done={`${phoneText(number)} was released.`}
      onDone={() => void navigate({ to: placeOf("phone") })}
    />
  )
}
