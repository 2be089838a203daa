import { Checkbox, List, Stack, Text } from "@mantine/core"
import type { Schema } from "../../api/api-client.ts"
import { ApiCallButton } from "../../parts/api-call-button.tsx"
import { curlOfChange } from "../../parts/copy-command.tsx"
import { EmptyState } from "../../parts/empty-state.tsx"
import { DetailList } from "../../parts/detail-list.tsx"
import { LongText } from "../../parts/long-text.tsx"
import { Money } from "../../parts/money.tsx"
import { Section } from "../../parts/page-layout.tsx"
import type { ReadyCampaign } from "./campaign-form.tsx"
import { CampaignForm } from "./campaign-form.tsx"
import type { RegistrationPart } from "./part-status.tsx"
import { Problems } from "./problems.tsx"

interface CampaignProps {
  readonly campaign: Schema<"Campaign">
  readonly part: RegistrationPart
  readonly mayPrepare: boolean
  readonly maySubmit: boolean
}

const MISSING: Readonly<Record<string, string>> = { business: "the business", pages: "the pages" }

/** The third step: the content of texts, and how people agree to them. */
export function CampaignSection({ campaign, part, mayPrepare, maySubmit }: CampaignProps) {
  if (!campaign.ready) {
    const first = campaign.missing.map((one) => MISSING[one] ?? one).join(" and ")
    return (
      <Section title="3. Campaign">
        <EmptyState
          title="Not ready yet"
          description={`Fill in ${first} first. The draft is made from them.`}
        />
      </Section>
    )
  }
  const isOpen = part.status !== "waiting" && part.status !== "approved"
  const { saved, problems } = campaign
  return (
    <Section
      title="3. Campaign"
      description="The content of your texts, and how people agree to them."
      actions={
        <>
          {mayPrepare && isOpen ? <CampaignForm campaign={campaign} /> : null}
          {maySubmit && isOpen && saved ? <SubmitCampaign fees={campaign.fees} /> : null}
        </>
      }
    >
      <Stack>
        <Problems title="A reviewer would reject" problems={problems} />
        {saved ? (
          <SavedCampaign campaign={campaign} />
        ) : (
          <EmptyState
            title="No campaign saved"
            description="Start from the draft, which is made from the business and its pages. Programs get the draft with this call, and save it with PUT:"
            command={curlOfChange({ method: "POST", path: "/api/v1/phone/campaign/draft" })}
          />
        )}
      </Stack>
    </Section>
  )
}

const BRANDS: Readonly<Record<string, string>> = {
  low_volume: "Low volume",
  standard: "Standard",
  sole_proprietor: "Sole proprietor",
}

function SavedCampaign({ campaign }: { readonly campaign: ReadyCampaign }) {
  const { brandType, description, messageFlow, samples, directLending, fees } = campaign
  return (
    <Stack>
      <DetailList
        items={[
          ["Text volume", brandType === null ? null : BRANDS[brandType]],
          ["About loans", directLending === true ? "Yes" : "No"],
          ["Cost of a review", <Money key="due" micros={fees.dueMicros} />],
        ]}
      />
      <LabeledText title="Content of texts">{description ?? "–"}</LabeledText>
      <LabeledText title="How people agree">{messageFlow ?? "–"}</LabeledText>
      <Stack gap={4}>
        <Text size="sm" c="dimmed">
          Sample texts
        </Text>
        <List size="sm">
          {samples.map((sample) => (
            <List.Item key={sample}>{sample}</List.Item>
          ))}
        </List>
      </Stack>
    </Stack>
  )
}

function LabeledText({ title, children }: { readonly title: string; readonly children: string }) {
  return (
    <Stack gap={0}>
      <Text size="sm" c="dimmed">
        {title}
      </Text>
      <LongText>{children}</LongText>
    </Stack>
  )
}

function SubmitCampaign({ fees }: { readonly fees: ReadyCampaign["fees"] }) {
  return (
    <ApiCallButton<{ readonly rush: boolean }>
      label="Send for review"
      title="Send the campaign for review"
      variant="filled"
      initialValues={{ rush: false }}
      changeOf={(body) => ({ method: "POST", path: "/api/v1/phone/registration", body })}
      fields={(form) => (
        <>
          <Checkbox
            label="Rush review"
            description={
              <>
                Rush costs <Money micros={fees.rushMicros} /> in addition
              </>
            }
            {...form.getInputProps("rush", { type: "checkbox" })}
          />
          <Text size="sm">
            The review costs <Money micros={fees.dueMicros} />, charged now
            {form.values.rush ? ", together with rush" : ""}. Problems are shown before anything is
            charged.
          </Text>
        </>
      )}
      submitLabel="Send for review"
      successMessage="The campaign was sent to the carriers."
    />
  )
}
