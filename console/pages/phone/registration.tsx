import { Alert, Stack } from "@mantine/core"
import type { Schema } from "../../api/api-client.ts"
import { useApiQuery } from "../../api/api-client.ts"
import { hasPermission, isAdmin, useMe } from "../../api/session.ts"
import { ApiCallButton } from "../../parts/api-call-button.tsx"
import { CopyCommandButton, curlOf } from "../../parts/copy-command.tsx"
import { DataTable } from "../../parts/data-table.tsx"
import { QueryView } from "../../parts/query-view.tsx"
import { NarrowLine } from "../../parts/narrow-line.tsx"
import { Section } from "../../parts/page-layout.tsx"
import { phoneText } from "../../parts/phone-text.ts"
import { BusinessSection } from "./business-section.tsx"
import { CampaignSection } from "./campaign-section.tsx"
import { PagesSection } from "./pages-section.tsx"
import type { RegistrationPart } from "./part-status.tsx"
import { PartStatusBadge } from "./part-status.tsx"
import { usePhoneState, useRegistration } from "./phone-state.ts"

type RegistrationState = Schema<"RegistrationStatus">

/** The registration that carriers review before a company may text. */
export function RegistrationSection() {
  const registration = useRegistration()
  const state = usePhoneState()
  const pages = useApiQuery(["readTextingPages"], (api) => api.GET("/api/v1/phone/pages"))
  const campaign = useApiQuery(["readCampaign"], (api) => api.GET("/api/v1/phone/campaign"))
  const me = useMe()
  const may = { mayPrepare: hasPermission(me, "Manage phone"), maySubmit: isAdmin(me) }
  return (
    <QueryView query={registration} lines={8}>
      {(found) => (
        <Stack gap="xl">
          <RegistrationSummary
            registration={found}
            maySubmit={may.maySubmit}
            numbers={state.data?.numbers ?? []}
          />
          <QueryView query={state}>
            {({ business }) => (
              <BusinessSection business={business} {...may} part={partOf(found, "business")} />
            )}
          </QueryView>
          <QueryView query={pages}>
            {(shown) => (
              <PagesSection pages={shown} {...may} passedAt={state.data?.pagesPassedAt ?? null} />
            )}
          </QueryView>
          <QueryView query={campaign}>
            {(shown) => (
              <CampaignSection campaign={shown} {...may} part={partOf(found, "campaign")} />
            )}
          </QueryView>
        </Stack>
      )}
    </QueryView>
  )
}

function partOf({ parts }: RegistrationState, name: string): RegistrationPart {
  return parts.find(({ part }) => part === name) ?? { status: "not_sent", reasons: [] }
}

interface StandsProps {
  readonly registration: RegistrationState
  readonly maySubmit: boolean
  readonly numbers: readonly Schema<"PhoneNumber">[]
}

function RegistrationSummary({ registration, maySubmit, numbers }: StandsProps) {
  const { testMode, parts } = registration
  const isWaiting = parts.some(({ status }) => status === "waiting")
  return (
    <Section
      title="Status"
      description="Carriers review the business, its texts, and how people agree to them."
      actions={
        <>
          <CopyCommandButton what="curl" command={curlOf("/api/v1/phone/registration")} />
          {testMode && isWaiting && maySubmit ? <ApproveInTestMode /> : null}
        </>
      }
    >
      <Stack>
        {testMode ? (
          <Alert color="blue" variant="light" title="Test mode">
            Reviews are simulated and free. Send the business for a real review to end test mode.
          </Alert>
        ) : null}
        <DataTable
          label="Parts of the registration"
          rows={parts}
          rowKey={({ part }) => part}
          columns={[
            { title: "Part", cell: ({ part }) => partText(part, numbers) },
            {
              title: "Status",
              cell: ({ status, reasons }) => (
                <>
                  <PartStatusBadge status={status} />
                  <NarrowLine>{reasons.join(" ")}</NarrowLine>
                </>
              ),
            },
            {
              title: "Carriers' answer",
              isHiddenOnNarrow: true,
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

function ApproveInTestMode() {
  return (
    <ApiCallButton
      label="Approve pending parts"
      description="Approves all pending parts in place of the carriers. Only available in test mode."
      changeOf={() => ({ method: "POST", path: "/api/v1/phone/registration/confirm" })}
      submitLabel="Approve"
      successMessage="The pending parts were approved."
    />
  )
}
