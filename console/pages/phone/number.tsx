import { useNavigate, useParams } from "@tanstack/react-router"
import type { Schema } from "../../api/api-client.ts"
import { useApiQuery } from "../../api/api-client.ts"
import { hasPermission, useMe } from "../../api/session.ts"
import { ApiCallButton } from "../../parts/api-call-button.tsx"
import { EmptyState } from "../../parts/empty-state.tsx"
import { DetailList } from "../../parts/detail-list.tsx"
import { Id } from "../../parts/id.tsx"
import { TextLink, usePagePath } from "../../parts/link.tsx"
import { QueryView } from "../../parts/query-view.tsx"
import { Money } from "../../parts/money.tsx"
import { PageLayout, Section } from "../../parts/page-layout.tsx"
import { phoneText } from "../../parts/phone-text.ts"
import { Time } from "../../parts/time.tsx"
import { ChangeNumber } from "./change-number.tsx"
import { abilitiesText, localityText, usePhoneState } from "./phone-state.ts"

/** A number: capabilities, incoming calls, and release. */
export default function NumberPage() {
  const { numberId } = useParams({ strict: false })
  const state = usePhoneState()
  return (
    <QueryView query={state}>
      {({ numbers }) => {
        const found = numbers.find(({ id }) => id === numberId)
        return found === undefined ? (
          <EmptyState title="No such number" description="It may have been released.">
            <TextLink to="phone">All numbers</TextLink>
          </EmptyState>
        ) : (
          <NumberContent found={found} />
        )
      }}
    </QueryView>
  )
}

function NumberContent({ found }: { readonly found: Schema<"PhoneNumber"> }) {
  const { id, number, monthlyMicros, paidThrough, boughtAt, releasedUnlessPaidBy } = found
  const isManager = hasPermission(useMe(), "Manage phone")
  const settings = useApiQuery(["readPhoneSettings"], (api) => api.GET("/api/v1/phone/settings"))
  return (
    <PageLayout
      title={phoneText(number)}
      description={<Id id={id} />}
      actions={isManager ? <Release id={id} number={number} /> : undefined}
    >
      <DetailList
        items={[
          ["Location", localityText(found)],
          ["Capabilities", abilitiesText(found)],
          [
            "Per month",
            paidThrough === null ? "Free" : <Money key="month" micros={monthlyMicros} />,
          ],
          ["Bought", <Time key="bought" at={boughtAt} />],
          ["Paid until", <Time key="paid" at={paidThrough} />],
          ...(releasedUnlessPaidBy === null
            ? []
            : ([
                ["Released unless paid by", <Time key="by" at={releasedUnlessPaidBy} />],
              ] as const)),
          [
            "Texts",
            <TextLink key="texts" to="phone" search={{ tab: "texts" }}>
              Show texts
            </TextLink>,
          ],
        ]}
      />
      <QueryView query={settings}>
        {({ numbers }) => {
          const ownSettings = numbers.find((one) => one.id === id)
          return ownSettings === undefined ? null : (
            <NumberSettings settings={ownSettings} isManager={isManager} />
          )
        }}
      </QueryView>
    </PageLayout>
  )
}

function NumberSettings({
  settings,
  isManager,
}: {
  readonly settings: Schema<"NumberSettings">
  readonly isManager: boolean
}) {
  const { label, ringTo, ringMode, ringSeconds, screenCalls, recordCalls, voicemail } = settings
  const names = ringTo.map(({ phone, name }) => name ?? phoneText(phone)).join(", ")
  return (
    <Section
      title="Incoming calls"
      description={ringTo.length === 0 ? "No phone rings." : undefined}
      actions={isManager ? <ChangeNumber settings={settings} /> : undefined}
    >
      <DetailList
        items={[
          ["Label", label],
          ["Rings", names === "" ? "No phone" : names],
          [
            "Order",
            `${ringMode === "all" ? "All together" : "One after another"}, ${ringSeconds} s`,
          ],
          ["Press 1 to answer", screenCalls ? "Yes" : "No"],
          ["Calls are recorded", recordCalls ? "Yes" : "No"],
          ["Callers can leave a message", voicemail ? "Yes" : "No"],
          ...(recordCalls ? ([["Recording notice", settings.recordingNotice]] as const) : []),
          ...(voicemail
            ? ([["Greeting", settings.voicemailGreeting ?? "Default greeting"]] as const)
            : []),
        ]}
      />
    </Section>
  )
}

function Release({ id, number }: { readonly id: string; readonly number: string }) {
  const navigate = useNavigate()
  const pathOf = usePagePath()
  return (
    <ApiCallButton
      label="Release"
      title={`Release ${phoneText(number)}`}
      description="Releases the number for good: others can get it, and its rent is not refunded."
      changeOf={() => ({ method: "POST", path: "/api/v1/phone/release", body: { id } })}
      confirmationText={number}
      isDangerous
      submitLabel="Release"
      successMessage={`${phoneText(number)} was released.`}
      onDone={() => void navigate({ to: pathOf("phone") })}
    />
  )
}
