import { Checkbox, List, Stack, Text } from "@mantine/core"
import type { Schema } from "../../api/company.ts"
import { CallDialog } from "../../parts/call-dialog.tsx"
import { Empty } from "../../parts/empty.tsx"
import { Facts } from "../../parts/facts.tsx"
import { LongText } from "../../parts/long-text.tsx"
import { Money } from "../../parts/money.tsx"
import { Section } from "../../parts/page.tsx"
import type { ReadyCampaign } from "./campaign-form.tsx"
import { CampaignForm } from "./campaign-form.tsx"
import type { Part } from "./part-status.tsx"
import { Problems } from "./problems.tsx"

interface CampaignProps {
  readonly campaign: Schema<"Campaign">
  readonly part: Part
  readonly mayPrepare: boolean
  readonly maySubmit: boolean
}

const MISSING: Readonly<Record<string, string>> = { business: "the business", pages: "the pages" }

/** The third step: what is texted, and how people agree to it. */
export function CampaignSection({ campaign, part, mayPrepare, maySubmit }: CampaignProps) {
  if (!campaign.ready) {
    const first = campaign.missing.map((one) => MISSING[one] ?? one).join(" and ")
    return (
      <Section title="3. Campaign">
        <Empty
          title="Something comes first"
          says={`Fill in ${first}; a draft is made from them.`}
        />
      </Section>
    )
  }
  const isOpen = part.status !== "waiting" && part.status !== "approved"
  const { saved, problems } = campaign
  return (
    <Section
      title="3. Campaign"
      says="What is texted, and how people agree to it."
      actions={
        <>
          {mayPrepare && isOpen ? <CampaignForm campaign={campaign} /> : null}
          {maySubmit && isOpen && saved ? <SubmitCampaign fees={campaign.fees} /> : null}
        </>
      }
    >
      <Stack>
        <Problems title="A reviewer would refuse" problems={problems} />
        {saved ? (
          <Saved campaign={campaign} />
        ) : (
          <Empty
            title="No campaign is saved"
            says="Begin with the draft that is made from the business and its pages, and change it. A program does so by:"
            command="POST /api/v1/phone/campaign/draft, then PUT /api/v1/phone/campaign"
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

function Saved({ campaign }: { readonly campaign: ReadyCampaign }) {
  const { brandType, description, messageFlow, samples, directLending, fees } = campaign
  return (
    <Stack>
      <Facts
        of={[
          ["How much is texted", brandType === null ? null : BRANDS[brandType]],
          ["About loans", directLending === true ? "Yes" : "No"],
          ["A review now costs", <Money key="due" micros={fees.dueMicros} />],
        ]}
      />
      <Words title="What is texted">{description ?? "–"}</Words>
      <Words title="How people agree">{messageFlow ?? "–"}</Words>
      <Stack gap={4}>
        <Text size="sm" c="dimmed">
          Texts as they are sent
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

function Words({ title, children }: { readonly title: string; readonly children: string }) {
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
    <CallDialog<{ readonly rush: boolean }>
      label="Send for review"
      title="Send the campaign for review"
      variant="filled"
      initial={{ rush: false }}
      changeOf={(body) => ({ method: "POST", path: "/api/v1/phone/registration", body })}
      fields={(form) => (
        <>
          <Checkbox
            label="Have it reviewed sooner"
            description={
              <>
                Rush costs <Money micros={fees.rushMicros} /> besides
              </>
            }
            {...form.getInputProps("rush", { type: "checkbox" })}
          />
          <Text size="sm">
            The review costs <Money micros={fees.dueMicros} />, charged now
            {form.values.rush ? ", and rush with it in the same charge" : ""}. What would be refused
            is said before anything is charged.
          </Text>
        </>
      )}
      does="Send for review"
      done="The campaign is with the carriers."
    />
  )
}
