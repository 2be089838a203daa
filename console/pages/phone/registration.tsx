import { Alert, Stack } from "@mantine/core"
import type { Schema } from "../../api/company.ts"
import { useFound } from "../../api/company.ts"
import { holds, isAdmin, useMe } from "../../api/session.ts"
import { CallDialog } from "../../parts/call-dialog.tsx"
import { CopyAs, curlOf } from "../../parts/copy-as.tsx"
import { DataTable } from "../../parts/data-table.tsx"
import { Loaded } from "../../parts/loaded.tsx"
import { NarrowLine } from "../../parts/narrow-line.tsx"
import { Section } from "../../parts/page.tsx"
import { phoneText } from "../../parts/phone-text.ts"
import { BusinessSection } from "./business-section.tsx"
import { CampaignSection } from "./campaign-section.tsx"
import { PagesSection } from "./pages-section.tsx"
import type { Part } from "./part-status.tsx"
import { PartStatus } from "./part-status.tsx"
import { usePhoneState, useRegistration } from "./state.ts"

type Standing = Schema<"RegistrationStatus">

/** What carriers review before a company may text, step by step. */
export function Registration() {
  const standing = useRegistration()
  const state = usePhoneState()
  const pages = useFound(["readTextingPages"], (api) => api.GET("/api/v1/phone/pages"))
  const campaign = useFound(["readCampaign"], (api) => api.GET("/api/v1/phone/campaign"))
  const me = useMe()
  const may = { mayPrepare: holds(me, "Manage phone"), maySubmit: isAdmin(me) }
  return (
    <Loaded of={standing} lines={8}>
      {(found) => (
        <Stack gap="xl">
          <Stands standing={found} maySubmit={may.maySubmit} numbers={state.data?.numbers ?? []} />
          <Loaded of={state}>
            {({ business }) => (
              <BusinessSection {...{ business, ...may }} part={partOf(found, "business")} />
            )}
          </Loaded>
          <Loaded of={pages}>
            {(shown) => (
              <PagesSection
                {...{ pages: shown, ...may }}
                passedAt={state.data?.pagesPassedAt ?? null}
              />
            )}
          </Loaded>
          <Loaded of={campaign}>
            {(shown) => (
              <CampaignSection {...{ campaign: shown, ...may }} part={partOf(found, "campaign")} />
            )}
          </Loaded>
        </Stack>
      )}
    </Loaded>
  )
}

function partOf({ parts }: Standing, name: string): Part {
  return parts.find(({ part }) => part === name) ?? { status: "not_sent", reasons: [] }
}

interface StandsProps {
  readonly standing: Standing
  readonly maySubmit: boolean
  readonly numbers: readonly Schema<"PhoneNumber">[]
}

function Stands({ standing, maySubmit, numbers }: StandsProps) {
  const { testMode, parts } = standing
  const isWaiting = parts.some(({ status }) => status === "waiting")
  return (
    <Section
      title="Where it stands"
      says="Carriers review who texts, what, and how people agreed to it."
      actions={
        <>
          <CopyAs what="curl" command={curlOf("/api/v1/phone/registration")} />
          {testMode && isWaiting && maySubmit ? <Confirm /> : null}
        </>
      }
    >
      <Stack>
        {testMode ? (
          <Alert color="blue" variant="light" title="This is test mode">
            Nothing is reviewed by anybody and reviews cost nothing. Sending the business as meant
            ends it.
          </Alert>
        ) : null}
        <DataTable
          label="Parts of the registration"
          rows={parts}
          rowKey={({ part }) => part}
          columns={[
            { title: "Part", cell: ({ part }) => partText(part, numbers) },
            {
              title: "Stands",
              cell: ({ status, reasons }) => (
                <>
                  <PartStatus status={status} />
                  <NarrowLine>{reasons.join(" ")}</NarrowLine>
                </>
              ),
            },
            {
              title: "What carriers said",
              isWide: true,
              cell: ({ reasons }) => (reasons.length === 0 ? "–" : reasons.join(" ")),
            },
          ]}
          empty={null}
        />
      </Stack>
    </Section>
  )
}

function partText(part: string, numbers: readonly Schema<"PhoneNumber">[]): string {
  if (part === "business") return "Business"
  if (part === "campaign") return "Campaign"
  const id = part.replace(/^number:/, "")
  return phoneText(numbers.find((one) => one.id === id)?.number ?? id)
}

function Confirm() {
  return (
    <CallDialog
      label="Approve what waits"
      says="You stand in for the carriers: what waits is approved. It is there in test mode alone."
      changeOf={() => ({ method: "POST", path: "/api/v1/phone/registration/confirm" })}
      does="Approve"
      done="What waited was approved."
    />
  )
}
