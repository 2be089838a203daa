import { useParams } from "@tanstack/react-router"
import type { Schema } from "../../api/api-client.ts"
import { useApiQuery } from "../../api/api-client.ts"
import { ActionButton } from "../../parts/action-button.tsx"
import { EmptyState } from "../../parts/empty-state.tsx"
import { DetailList } from "../../parts/detail-list.tsx"
import { useFilters } from "../../parts/filters.ts"
import { Id } from "../../parts/id.tsx"
import { TextLink } from "../../parts/link.tsx"
import { QueryView } from "../../parts/query-view.tsx"
import { LongText } from "../../parts/long-text.tsx"
import { PageLayout, Section } from "../../parts/page-layout.tsx"
import { Time } from "../../parts/time.tsx"
import { WebLink } from "../../parts/web-link.tsx"
import { CollectLeadsButton } from "./collect.tsx"
import { LeadStatusBadge, isLeadErased, leadName } from "./lead-status.tsx"

type Lead = Schema<"Lead">

/** A lead. The API finds leads by their time, which the address has. */
export default function LeadPage() {
  const { leadId = "" } = useParams({ strict: false })
  const [{ since }] = useFilters()
  const query = since === undefined ? {} : { since }
  const found = useApiQuery(["listLeads", query], (api) =>
    api.GET("/api/v1/leads", { params: { query } }),
  )
  return (
    <QueryView query={found}>
      {({ leads }) => {
        const lead = leads.find(({ id }) => id === leadId)
        return lead === undefined ? (
          <EmptyState title="No such lead" description="Open the lead from the list.">
            <TextLink to="leads">All leads</TextLink>
          </EmptyState>
        ) : (
          <LeadContent lead={lead} />
        )
      }}
    </QueryView>
  )
}

function LeadContent({ lead }: { readonly lead: Lead }) {
  const { id, formName, email, phone, company, message, pageUrl, createdAt, collectedAt } = lead
  const isErased = isLeadErased(lead)
  return (
    <PageLayout
      title={leadName(lead)}
      description={<Id id={id} />}
      actions={
        isErased ? undefined : (
          <>
            <ActionButton
              operation="lead-erase"
              input={{ leadId: id }}
              confirmationText={leadName(lead)}
              label="Erase"
              description="Erases the lead's data for good. Its id, form and time stay."
              successMessage="The lead was erased."
              isDangerous
            />
            <CollectLeadsButton leads={[lead]} label="Mark as collected" />
          </>
        )
      }
    >
      <DetailList
        items={[
          ["State", <LeadStatusBadge key="state" lead={lead} />],
          ["When", <Time key="when" at={createdAt} isWhole />],
          ["Collected", <Time key="collected" at={collectedAt} />],
          ["Email", email],
          ["Phone", phone],
          ["Company", company],
          ["Form", formName ?? "–"],
          ["Page", <WebLink key="page" address={pageUrl} />],
          ["Agreed to texts", lead.smsConsent ? "Yes" : "No"],
          ["Agreed to mail", lead.emailConsent ? "Yes" : "No"],
        ]}
      />
      {message === null ? null : (
        <Section title="Message">
          <LongText>{message}</LongText>
        </Section>
      )}
      <ExtraFields title="Fields of the form" of={lead.fields} />
      <ExtraFields title="Campaign parameters" of={lead.utm} />
    </PageLayout>
  )
}

function ExtraFields({
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
      <DetailList items={found} />
    </Section>
  )
}
