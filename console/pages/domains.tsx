import { TextInput } from "@mantine/core"
import { useNavigate } from "@tanstack/react-router"
import type { ConnectedDomain, DomainList } from "../api/outreach-answers.ts"
import type { Schema } from "../api/api-client.ts"
import { useOperationQuery, useCommand, useCanRun, useOperation } from "../api/operations.ts"
import { ApiCallButton } from "../parts/api-call-button.tsx"
import { CopyCommandButton, curlOfChange } from "../parts/copy-command.tsx"
import type { TableColumn } from "../parts/data-table.tsx"
import { DataTable } from "../parts/data-table.tsx"
import { EmptyState } from "../parts/empty-state.tsx"
import { usePagePath } from "../parts/link.tsx"
import { QueryView } from "../parts/query-view.tsx"
import { NoPermission } from "../parts/no-permission.tsx"
import { PageLayout } from "../parts/page-layout.tsx"
import { Time } from "../parts/time.tsx"
import { DomainStatusBadge } from "./domains/domain-status.tsx"

/** The list of the company's domains. */
export default function DomainsPage() {
  if (useCanRun("domain-list")) return <ConnectedDomains />
  return <NoPermission title="Domains" what="domains" permissions={["Manage domains"]} />
}

function ConnectedDomains() {
  const found = useOperationQuery<DomainList>("domain-list")
  const operation = useOperation("domain-list")
  const commandOf = useCommand()
  return (
    <PageLayout
      title="Domains"
      description="Domains for your app, your mail and your pages."
      actions={
        <>
          {operation === null ? null : <CopyCommandButton command={commandOf(operation, {})} />}
          <Connect />
        </>
      }
    >
      <QueryView query={found}>{({ domains }) => <List domains={domains} />}</QueryView>
    </PageLayout>
  )
}

function List({ domains }: DomainList) {
  const columns: readonly TableColumn<ConnectedDomain>[] = [
    { title: "Domain", cell: ({ domain }) => domain, sortBy: ({ domain }) => domain },
    {
      title: "Status",
      cell: ({ status }) => <DomainStatusBadge status={status} />,
      sortBy: ({ status }) => status,
    },
    { title: "Next step", isHiddenOnNarrow: true, cell: missingText },
    {
      title: "Connected",
      isHiddenOnNarrow: true,
      cell: ({ connectedAt }) => <Time at={connectedAt} />,
      sortBy: ({ connectedAt }) => connectedAt,
    },
  ]
  return (
    <DataTable
      label="Domains"
      columns={columns}
      rows={domains}
      rowKey={({ id }) => id}
      place={({ id }) => ({ to: `domains/${id}` })}
      empty={
        <EmptyState
          title="No domains yet"
          description="Connect a domain from any registrar: we copy its records, then you set our name servers at the registrar."
          command={curlOfChange({
            method: "POST",
            path: "/api/v1/domain",
            body: { domain: "acme.com" },
          })}
        />
      }
    />
  )
}

function missingText({ status, seenNameServers: seen }: ConnectedDomain): string {
  if (status === "live") return "None"
  if (seen === null) return "Set our name servers at its registrar"
  return `Its registrar uses ${seen.join(", ") || "no name servers"}`
}

function Connect() {
  const navigate = useNavigate()
  const pathOf = usePagePath()
  return (
    <ApiCallButton<{ readonly domain: string }, Schema<"Domain">>
      label="Connect a domain"
      variant="filled"
      description="We copy its records first, so that nothing breaks. Nothing changes until you set our name servers at its registrar. At most six domains can be connected or checked per minute."
      initialValues={{ domain: "" }}
      validators={{
        domain: (text) =>
          /^[^\s@/:]+\.[^\s@/:]+$/.test(text.trim()) ? null : "Must be a domain, such as acme.com",
      }}
      changeOf={({ domain }) => ({
        method: "POST",
        path: "/api/v1/domain",
        body: { domain: domain.trim() },
      })}
      fields={(form) => (
        <TextInput
          label="Domain"
          placeholder="acme.com"
          description="As registered, without www"
          data-autofocus
          autoComplete="off"
          {...form.getInputProps("domain")}
        />
      )}
      submitLabel="Connect"
      successMessage={({ domain }) => `${domain} was connected.`}
      onDone={({ id }) => void navigate({ to: pathOf(`domains/${id}`) })}
    />
  )
}
