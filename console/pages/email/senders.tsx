import { Code, Group, Select, Stack, Text, TextInput } from "@mantine/core"
import type { DomainList } from "../../api/work-answers.ts"
import type { Schema } from "../../api/company.ts"
import { useFound } from "../../api/company.ts"
import { useAnswer, useMay } from "../../api/operations.ts"
import { CallDialog } from "../../parts/call-dialog.tsx"
import { CopyAs, curlOf, curlOfChange } from "../../parts/copy-as.tsx"
import type { Column } from "../../parts/data-table.tsx"
import { DataTable } from "../../parts/data-table.tsx"
import { Empty } from "../../parts/empty.tsx"
import { FormDialog } from "../../parts/form-dialog.tsx"
import { Loaded } from "../../parts/loaded.tsx"
import { Section } from "../../parts/page.tsx"
import { Time } from "../../parts/time.tsx"
import { SendingStatus } from "./sending-status.tsx"

type SendingDomain = Schema<"SendingDomain">

const PATH = "/api/v1/email/domains"

/** The domains that mail is sent from. */
export function Senders() {
  const found = useFound(["listSendingDomains"], (api) => api.GET(PATH))
  return (
    <Section
      title="Sending domains"
      says="Mail is sent from a verified one. Its records are checked by themselves, too."
      actions={
        <>
          <CopyAs what="curl" command={curlOf(PATH)} />
          <Offer domains={found.data?.domains ?? []} />
          <AddSender />
        </>
      }
    >
      <Loaded of={found}>
        {({ domains, senders }) => (
          <Stack gap="xl">
            <List domains={domains} />
            {senders.length === 0 ? null : <UsedSenders senders={senders} />}
          </Stack>
        )}
      </Loaded>
    </Section>
  )
}

function UsedSenders({ senders }: { readonly senders: readonly string[] }) {
  return (
    <Stack gap={4}>
      <Text size="sm" c="dimmed">
        Sent from within 90 days
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
  const columns: readonly Column<SendingDomain>[] = [
    { title: "Domain", cell: ({ domain }) => domain, sortBy: ({ domain }) => domain },
    { title: "Status", cell: ({ status }) => <SendingStatus status={status} /> },
    {
      title: "What is missing",
      isWide: true,
      cell: ({ error }) => (
        <Text inherit maw={420}>
          {error ?? "Nothing"}
        </Text>
      ),
    },
    { title: "Send from", isWide: true, cell: ({ suggestedSender }) => suggestedSender },
    { title: "Checked", isWide: true, cell: ({ checkedAt }) => <Time at={checkedAt} /> },
    { title: "Change", isNumber: true, cell: (sender) => <Check sender={sender} /> },
  ]
  return (
    <DataTable
      {...{ label: "Sending domains", columns, rows: domains }}
      rowKey={({ id }) => id}
      place={({ domainId }) => ({ to: `domains/${domainId}` })}
      empty={
        <Empty
          title="No sending domains yet"
          says="Connect a domain first; mail is sent from it, or from a name under it, once its records are seen."
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
    <CallDialog<Record<string, never>, { readonly status: string }>
      label="Check now"
      title={`Check ${domain}`}
      variant="subtle"
      says="The world is asked for its records now, and what it says is kept."
      changeOf={() => ({ method: "POST", path: PATH, body: { action: "check", id } })}
      does="Check"
      done={({ status }) => `${domain} is ${status}.`}
    />
  )
}

type Values = { readonly domainId: string; readonly domain: string }

function AddSender() {
  const isWanted = useMay("domain-list")
  const domains = useAnswer<DomainList>("domain-list", {}, isWanted).data?.domains ?? []
  const [first] = domains
  if (first === undefined) return null
  return (
    <CallDialog<Values>
      label="Add a sending domain"
      variant="filled"
      says="Its key and records are made, and served with the domain that it is under."
      initial={{ domainId: first.id, domain: `mail.${first.domain}` }}
      check={{
        domain: (text) =>
          /^[^\s@]+\.[^\s@]+$/.test(text.trim()) ? null : "A name, such as mail.acme.com",
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
      does="Add"
      done="It was added. Its records are looked at next."
    />
  )
}

type Turned = { readonly domain: string; readonly turn: string }

/** Whether mails from a sending domain offer to unsubscribe. */
function Offer({ domains }: { readonly domains: readonly SendingDomain[] }) {
  const verified = domains.filter(({ status }) => status === "verified")
  const [first] = verified
  if (first === undefined) return null
  return (
    <FormDialog<Turned, unknown>
      operation="suppression-offer"
      label="Offer to unsubscribe"
      says="Programs of mail show it as a button; whoever takes it is not written to from that domain again. Leave it off for receipts and codes, which people must get."
      initial={{ domain: first.domain, turn: "on" }}
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
            label="They offer it"
            allowDeselect={false}
            data={[
              { value: "on", label: "Yes" },
              { value: "off", label: "No" },
            ]}
            {...form.getInputProps("turn")}
          />
        </>
      )}
      does="Save"
      done="It holds from the next mail on."
    />
  )
}
