import { useParams } from "@tanstack/react-router"
import type { Schema } from "../../api/company.ts"
import { useFound } from "../../api/company.ts"
import { Action } from "../../parts/action.tsx"
import { Empty } from "../../parts/empty.tsx"
import { Facts } from "../../parts/facts.tsx"
import { useFilters } from "../../parts/filters.ts"
import { Id } from "../../parts/id.tsx"
import { TextLink } from "../../parts/link.tsx"
import { Loaded } from "../../parts/loaded.tsx"
import { LongText } from "../../parts/long-text.tsx"
import { Page, Section } from "../../parts/page.tsx"
import { Time } from "../../parts/time.tsx"
import { WebLink } from "../../parts/web-link.tsx"
import { Collect } from "./collect.tsx"
import { LeadState, isErased, nameOf } from "./lead-state.tsx"

type Lead = Schema<"Lead">

/** One lead. The API lists leads by their time, which the address has. */
export default function LeadPage() {
  const { leadId = "" } = useParams({ strict: false })
  const [{ since }] = useFilters()
  const query = since === undefined ? {} : { since }
  const found = useFound(["listLeads", query], (api) =>
    api.GET("/api/v1/leads", { params: { query } }),
  )
  return (
    <Loaded of={found}>
      {({ leads }) => {
        const lead = leads.find(({ id }) => id === leadId)
        return lead === undefined ? (
          <Empty title="There is no such lead" says="Open it from the list of all leads.">
            <TextLink to="leads">All leads</TextLink>
          </Empty>
        ) : (
          <Shown lead={lead} />
        )
      }}
    </Loaded>
  )
}

function Shown({ lead }: { readonly lead: Lead }) {
  const { id, formName, email, phone, company, message, pageUrl, createdAt, collectedAt } = lead
  const isGone = isErased(lead)
  return (
    <Page
      title={nameOf(lead)}
      says={<Id id={id} />}
      actions={
        isGone ? undefined : (
          <>
            <Action
              operation="lead-erase"
              input={{ leadId: id }}
              typed={nameOf(lead)}
              label="Erase"
              says="What the lead says is erased for ever. Its id, its form and its time stay."
              done="The lead was erased."
              isDangerous
            />
            <Collect leads={[lead]} label="Mark as collected" />
          </>
        )
      }
    >
      <Facts
        of={[
          ["State", <LeadState key="state" lead={lead} />],
          ["When", <Time key="when" at={createdAt} isWhole />],
          ["Collected", <Time key="collected" at={collectedAt} />],
          ["Email", email],
          ["Phone", phone],
          ["Company", company],
          ["Form", formName ?? "–"],
          ["Page", <WebLink key="page" address={pageUrl} />],
          ["May be texted", lead.smsConsent ? "Ticked" : "Not ticked"],
          ["May be mailed", lead.emailConsent ? "Ticked" : "Not ticked"],
        ]}
      />
      {message === null ? null : (
        <Section title="Message">
          <LongText>{message}</LongText>
        </Section>
      )}
      <Others title="Fields of the form" of={lead.fields} />
      <Others title="Where they came from" of={lead.utm} />
    </Page>
  )
}

function Others({
  title,
  of,
}: {
  readonly title: string
  readonly of: Readonly<Record<string, string>>
}) {
  const found = Object.entries(of)
  if (found.length === 0) return null
  return (
    <Section title={title}>
      <Facts of={found} />
    </Section>
  )
}
