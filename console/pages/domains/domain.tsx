import { Alert, Stack, Text } from "@mantine/core"
import { useNavigate, useParams } from "@tanstack/react-router"
import type { Schema } from "../../api/api-client.ts"
import { useApiQuery } from "../../api/api-client.ts"
import { ActionButton } from "../../parts/action-button.tsx"
import { ApiCallButton } from "../../parts/api-call-button.tsx"
import type { TableColumn } from "../../parts/data-table.tsx"
import { DataTable } from "../../parts/data-table.tsx"
import { EmptyState } from "../../parts/empty-state.tsx"
import { DetailList } from "../../parts/detail-list.tsx"
import { CopyIconButton, Id } from "../../parts/id.tsx"
import { TextLink, usePagePath } from "../../parts/link.tsx"
import { QueryView } from "../../parts/query-view.tsx"
import { PageLayout, Section } from "../../parts/page-layout.tsx"
import { SendingStatusBadge } from "../email/sending-status.tsx"
import { AppAddresses } from "./app-addresses.tsx"
import { DomainStatusBadge } from "./domain-status.tsx"
import { Records } from "./records.tsx"

type Domain = Schema<"Domain">

/** A domain: name servers, records and web addresses. */
export default function DomainPage() {
  const { domainId = "" } = useParams({ strict: false })
  const found = useApiQuery(["getDomain", domainId], (api) =>
    api.GET("/api/v1/domain", { params: { query: { domainId } } }),
  )
  return (
    <QueryView query={found}>
      {(domain) =>
        "id" in domain ? (
          <DomainContent domain={domain} />
        ) : (
          <EmptyState title="No such domain" description="It may have been removed.">
            <TextLink to="domains">All domains</TextLink>
          </EmptyState>
        )
      }
    </QueryView>
  )
}

function DomainContent({ domain }: { readonly domain: Domain }) {
  const navigate = useNavigate()
  const pathOf = usePagePath()
  const { domain: name, id, status, registrar, dnssecOn, email, warnings, copied } = domain
  return (
    <PageLayout
      title={name}
      description={<Id id={id} />}
      actions={
        <>
          <ActionButton
            operation="domain-remove"
            input={{ domain: name }}
            label="Remove"
            description={`We stop serving ${name}. Change the name servers at its registrar, which still uses ours.`}
            successMessage={`${name} was removed.`}
            isDangerous
            onDone={() => void navigate({ to: pathOf("domains") })}
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
      <DetailList
        items={[
          ["Status", <DomainStatusBadge key="status" status={status} />],
          ["Registrar", registrar],
          ["DNSSEC at the registrar", dnssecOn ? "On" : "Off"],
          [
            "Mail",
            email === null ? (
              "Not set up"
            ) : (
              <SendingStatusBadge key="email" status={email.status} />
            ),
          ],
        ]}
      />
      <NameServers domain={domain} />
      <Records domain={domain} />
      {copied.leftOut.length === 0 ? null : (
        <Section title="Not copied" description="Add the ones you need by hand.">
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
    </PageLayout>
  )
}

type Checked = { readonly pointed: boolean; readonly seen: readonly string[] }

function CheckNow({ domain: { id, domain } }: { readonly domain: Domain }) {
  return (
    <ApiCallButton<Record<string, never>, Checked>
      label="Check now"
      title={`Check ${domain}`}
      variant="filled"
      description="Checks which name servers its registrar uses. At most six domains can be connected or checked per minute, including API calls."
      changeOf={() => ({
        method: "POST",
        path: "/api/v1/domain",
        body: { check: true, domainId: id },
      })}
      submitLabel="Check"
      successMessage={({ pointed, seen }) =>
        pointed
          ? `${domain} points here.`
          : `Its registrar uses ${seen.join(", ") || "no name servers"}.`
      }
    />
  )
}

type NameServer = { readonly name: string }

/** The name servers to set at the registrar. */
function NameServers({ domain }: { readonly domain: Domain }) {
  const { domain: name, nameServers, replaces, status } = domain
  const columns: readonly TableColumn<NameServer>[] = [
    { title: "Type", cell: () => "NS" },
    { title: "Name", isHiddenOnNarrow: true, cell: () => name },
    { title: "Value", cell: (server) => server.name },
    {
      title: "Copy",
      isNumber: true,
      cell: (server) => <CopyIconButton text={server.name} what={server.name} />,
    },
  ]
  return (
    <Section
      title="Name servers"
      description={
        status === "live"
          ? "Its registrar uses these."
          : "Set these at its registrar, in place of the current ones."
      }
      actions={<CopyIconButton text={nameServers.join("\n")} what="all name servers" />}
    >
      <Stack gap="sm">
        <DataTable
          label="Name servers"
          columns={columns}
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
