import { Code, Group, Select, Stack, Text, TextInput } from "@mantine/core"
import type { DomainList } from "../../api/outreach-answers.ts"
import type { Schema } from "../../api/api-client.ts"
import { useApiQuery } from "../../api/api-client.ts"
import { useOperationQuery, useCanRun } from "../../api/operations.ts"
import { ApiCallButton } from "../../parts/api-call-button.tsx"
import { CopyCommandButton, curlOf, curlOfChange } from "../../parts/copy-command.tsx"
import type { TableColumn } from "../../parts/data-table.tsx"
import { DataTable } from "../../parts/data-table.tsx"
import { EmptyState } from "../../parts/empty-state.tsx"
import { OperationFormButton } from "../../parts/operation-form-button.tsx"
import { QueryView } from "../../parts/query-view.tsx"
import { Section } from "../../parts/page-layout.tsx"
import { Time } from "../../parts/time.tsx"
import { SendingStatusBadge } from "./sending-status.tsx"

type SendingDomain = Schema<"SendingDomain">

const PATH = "/api/v1/email/domains"

/** The domains that send mail. */
export function SendingDomains() {
  const found = useApiQuery(["listSendingDomains"], (api) => api.GET(PATH))
  return (
    <Section
      title="Sending domains"
      description="Mail is sent from verified domains. Their records are checked automatically."
      actions={
        <>
          <CopyCommandButton what="curl" command={curlOf(PATH)} />
          <UnsubscribeOffer domains={found.data?.domains ?? []} />
          <AddSender />
        </>
      }
    >
      <QueryView query={found}>
        {({ domains, senders }) => (
          <Stack gap="xl">
            <List domains={domains} />
            {senders.length === 0 ? null : <RecentSenders senders={senders} />}
          </Stack>
        )}
      </QueryView>
    </Section>
  )
}

function RecentSenders({ senders }: { readonly senders: readonly string[] }) {
  return (
    <Stack gap={4}>
      <Text size="sm" c="dimmed">
        Used in the last 90 days
      </Text>
      <Group gap={6}>
        {senders.map((sender) => (
          <Code key={sender}>{sender}</Code>
        ))}
      </Group>
    </Stack>
  )
}

function List({ domains }: { readonly domains: readonly SendingDomain[] }) {
  const columns: readonly TableColumn<SendingDomain>[] = [
    { title: "Domain", cell: ({ domain }) => domain, sortBy: ({ domain }) => domain },
    { title: "Status", cell: ({ status }) => <SendingStatusBadge status={status} /> },
    {
      title: "Problem",
      isHiddenOnNarrow: true,
      cell: ({ error }) => (
        <Text inherit maw={420}>
          {error ?? "None"}
        </Text>
      ),
    },
    { title: "Send from", isHiddenOnNarrow: true, cell: ({ suggestedSender }) => suggestedSender },
    { title: "Checked", isHiddenOnNarrow: true, cell: ({ checkedAt }) => <Time at={checkedAt} /> },
    { title: "Change", isNumber: true, cell: (sender) => <Check sender={sender} /> },
  ]
  return (
    <DataTable
      label="Sending domains"
      columns={columns}
      rows={domains}
      rowKey={({ id }) => id}
      place={({ domainId }) => ({ to: `domains/${domainId}` })}
      empty={
        <EmptyState
          title="No sending domains yet"
          description="Connect a domain first. Mail is sent from it, or from a name under it, when its records are verified."
          command={curlOfChange({
            method: "POST",
            path: PATH,
            body: { action: "add", domainId: "dom_…", domain: "mail.acme.com" },
          })}
        />
      }
    />
  )
}

function Check({ sender: { id, domain } }: { readonly sender: SendingDomain }) {
  return (
    <ApiCallButton<Record<string, never>, { readonly status: string }>
      label="Check now"
      title={`Check ${domain}`}
      variant="subtle"
      description="Checks the domain's public DNS records now."
      changeOf={() => ({ method: "POST", path: PATH, body: { action: "check", id } })}
      submitLabel="Check"
      successMessage={({ status }) => `${domain} is ${status}.`}
    />
  )
}

type Values = { readonly domainId: string; readonly domain: string }

function AddSender() {
  const canList = useCanRun("domain-list")
  const domains = useOperationQuery<DomainList>("domain-list", {}, canList).data?.domains ?? []
  const [first] = domains
  if (first === undefined) return null
  return (
    <ApiCallButton<Values>
      label="Add a sending domain"
      variant="filled"
      description="Creates its key and records, and serves them with the domain."
      initialValues={{ domainId: first.id, domain: `mail.${first.domain}` }}
      validators={{
        domain: (text) =>
          /^[^\s@]+\.[^\s@]+$/.test(text.trim()) ? null : "Must be a name, such as mail.acme.com",
      }}
      changeOf={({ domainId, domain }) => ({
        method: "POST",
        path: PATH,
        body: { action: "add", domainId, domain: domain.trim() },
      })}
      fields={(form) => (
        <>
          <Select
            label="Under"
            allowDeselect={false}
            data={domains.map(({ id, domain }) => ({ value: id, label: domain }))}
            {...form.getInputProps("domainId")}
          />
          <TextInput
            label="Name"
            description="The domain itself, or a name under it"
            data-autofocus
            {...form.getInputProps("domain")}
          />
        </>
      )}
      submitLabel="Add"
      successMessage="The domain was added. Its records are checked next."
    />
  )
}

type OfferValues = { readonly domain: string; readonly enabled: string }

/** Whether mails from a sending domain have an unsubscribe button. */
function UnsubscribeOffer({ domains }: { readonly domains: readonly SendingDomain[] }) {
  const verified = domains.filter(({ status }) => status === "verified")
  const [first] = verified
  if (first === undefined) return null
  return (
    <OperationFormButton<OfferValues, unknown>
      operation="suppression-offer"
      label="Unsubscribe button"
      description="Mail programs show an unsubscribe button. People who use it get no more mail from that domain. Leave it off for receipts and codes."
      initialValues={{ domain: first.domain, enabled: "yes" }}
      inputOf={(values) => values}
      fields={(form) => (
        <>
          <Select
            label="Mails from"
            allowDeselect={false}
            data={verified.map(({ domain }) => domain)}
            {...form.getInputProps("domain")}
          />
          <Select
            label="Show the button"
            allowDeselect={false}
            data={[
              { value: "yes", label: "Yes" },
              { value: "no", label: "No" },
            ]}
            {...form.getInputProps("enabled")}
          />
        </>
      )}
      submitLabel="Save"
      successMessage="Applies from the next mail."
    />
  )
}
