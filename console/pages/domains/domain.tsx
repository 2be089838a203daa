import { Alert, Stack, Text } from "@mantine/core"
import { useNavigate, useParams } from "@tanstack/react-router"
import type { Schema } from "../../api/company.ts"
import { useFound } from "../../api/company.ts"
import { Action } from "../../parts/action.tsx"
import { CallDialog } from "../../parts/call-dialog.tsx"
import type { Column } from "../../parts/data-table.tsx"
import { DataTable } from "../../parts/data-table.tsx"
import { Empty } from "../../parts/empty.tsx"
import { Facts } from "../../parts/facts.tsx"
import { CopyIt, Id } from "../../parts/id.tsx"
import { TextLink, usePlace } from "../../parts/link.tsx"
import { Loaded } from "../../parts/loaded.tsx"
import { Page, Section } from "../../parts/page.tsx"
import { SendingStatus } from "../email/sending-status.tsx"
import { AppAddresses } from "./app-addresses.tsx"
import { DomainStatus } from "./domain-status.tsx"
import { Records } from "./records.tsx"

type Domain = Schema<"Domain">

/** One domain: what its registrar is to name, its records, its web addresses. */
export default function DomainPage() {
  const { domainId = "" } = useParams({ strict: false })
  const found = useFound(["getDomain", domainId], (api) =>
    api.GET("/api/v1/domain", { params: { query: { domainId } } }),
  )
  return (
    <Loaded of={found}>
      {(domain) =>
        "id" in domain ? (
          <Shown domain={domain} />
        ) : (
          <Empty title="There is no such domain" says="It may have been removed meanwhile.">
            <TextLink to="domains">Your domains</TextLink>
          </Empty>
        )
      }
    </Loaded>
  )
}

function Shown({ domain }: { readonly domain: Domain }) {
  const navigate = useNavigate()
  const placeOf = usePlace()
  const { domain: name, id, status, registrar, dnssecOn, email, warnings, copied } = domain
  return (
    <Page
      title={name}
      says={<Id id={id} />}
      actions={
        <>
          <Action
            operation="domain-remove"
            input={{ domain: name }}
            label="Remove"
            says={`Nothing of ${name} is served any more. Its registrar still names our name servers until its owner changes that.`}
            done={`${name} was removed.`}
            isDangerous
            onDone={() => void navigate({ to: placeOf("domains") })}
          />
          <CheckNow domain={domain} />
        </>
      }
    >
      {warnings.map((warning) => (
        <Alert key={warning} color="orange" variant="light">
          {warning}
        </Alert>
      ))}
      <Facts
        of={[
          ["Status", <DomainStatus key="status" status={status} />],
          ["Registrar", registrar],
          ["DNSSEC at the registrar", dnssecOn ? "On" : "Off"],
          [
            "Mail from it",
            email === null ? "Not set up" : <SendingStatus key="email" status={email.status} />,
          ],
        ]}
      />
      <NameServers domain={domain} />
      <Records domain={domain} />
      {copied.leftOut.length === 0 ? null : (
        <Section title="Not copied" says="Add by hand what of these is needed.">
          <Stack gap={2}>
            {copied.leftOut.map((line) => (
              <Text key={line} size="sm">
                {line}
              </Text>
            ))}
          </Stack>
        </Section>
      )}
      <AppAddresses domain={domain} />
    </Page>
  )
}

type Checked = { readonly pointed: boolean; readonly seen: readonly string[] }

function CheckNow({ domain: { id, domain } }: { readonly domain: Domain }) {
  return (
    <CallDialog<Record<string, never>, Checked>
      label="Check now"
      title={`Check ${domain}`}
      variant="filled"
      says="The zone above it is asked now which name servers its registrar names. At most six domains are connected or checked a minute, together with what programs do by the API."
      changeOf={() => ({
        method: "POST",
        path: "/api/v1/domain",
        body: { check: true, domainId: id },
      })}
      does="Check"
      done={({ pointed, seen }) =>
        pointed ? `${domain} points here.` : `Its registrar names ${seen.join(", ") || "none"}.`
      }
    />
  )
}

type NameServer = { readonly name: string }

/** What the owner tells the registrar. */
function NameServers({ domain }: { readonly domain: Domain }) {
  const { domain: name, nameServers, replaces, status } = domain
  const columns: readonly Column<NameServer>[] = [
    { title: "Type", cell: () => "NS" },
    { title: "Name", isWide: true, cell: () => name },
    { title: "Value", cell: (server) => server.name },
    {
      title: "Copy",
      isNumber: true,
      cell: (server) => <CopyIt text={server.name} what={server.name} />,
    },
  ]
  return (
    <Section
      title="Name servers"
      says={
        status === "live"
          ? "Its registrar names these."
          : "Set these at its registrar, in the place of what stands there."
      }
      actions={<CopyIt text={nameServers.join("\n")} what="all name servers" />}
    >
      <Stack gap="sm">
        <DataTable
          {...{ label: "Name servers", columns }}
          rows={nameServers.map((server) => ({ name: server }))}
          rowKey={(server) => server.name}
          empty={null}
        />
        {status === "live" || replaces.length === 0 ? null : (
          <Text size="sm" c="dimmed">
            They replace {replaces.join(", ")}.
          </Text>
        )}
      </Stack>
    </Section>
  )
}
