import { TextInput } from "@mantine/core"
import { useNavigate } from "@tanstack/react-router"
import type { ConnectedDomain, DomainList } from "../api/work-answers.ts"
import type { Schema } from "../api/company.ts"
import { useAnswer, useCommand, useMay, useOperation } from "../api/operations.ts"
import { CallDialog } from "../parts/call-dialog.tsx"
import { CopyAs, curlOfChange } from "../parts/copy-as.tsx"
import type { Column } from "../parts/data-table.tsx"
import { DataTable } from "../parts/data-table.tsx"
import { Empty } from "../parts/empty.tsx"
import { usePlace } from "../parts/link.tsx"
import { Loaded } from "../parts/loaded.tsx"
import { NotYours } from "../parts/not-yours.tsx"
import { Page } from "../parts/page.tsx"
import { Time } from "../parts/time.tsx"
import { DomainStatus } from "./domains/domain-status.tsx"

/** The company's domains. */
export default function Domains() {
  if (useMay("domain-list")) return <Connected />
  return <NotYours title="Domains" what="domains" permissions={["Manage domains"]} />
}

function Connected() {
  const found = useAnswer<DomainList>("domain-list")
  const operation = useOperation("domain-list")
  const commandOf = useCommand()
  return (
    <Page
      title="Domains"
      says="Your own names: for your app, your mail and your pages."
      actions={
        <>
          {operation === null ? null : <CopyAs command={commandOf(operation, {})} />}
          <Connect />
        </>
      }
    >
      <Loaded of={found}>{({ domains }) => <List domains={domains} />}</Loaded>
    </Page>
  )
}

function List({ domains }: DomainList) {
  const columns: readonly Column<ConnectedDomain>[] = [
    { title: "Domain", cell: ({ domain }) => domain, sortBy: ({ domain }) => domain },
    {
      title: "Status",
      cell: ({ status }) => <DomainStatus status={status} />,
      sortBy: ({ status }) => status,
    },
    { title: "What is missing", isWide: true, cell: missingText },
    {
      title: "Connected",
      isWide: true,
      cell: ({ connectedAt }) => <Time at={connectedAt} />,
      sortBy: ({ connectedAt }) => connectedAt,
    },
  ]
  return (
    <DataTable
      {...{ label: "Domains", columns, rows: domains }}
      rowKey={({ id }) => id}
      place={({ id }) => ({ to: `domains/${id}` })}
      empty={
        <Empty
          title="No domains yet"
          says="A domain that you registered anywhere is connected here: its records are copied, then its registrar is told our name servers."
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

function missingText({ status, seen }: ConnectedDomain): string {
  if (status === "live") return "Nothing"
  if (seen === null) return "Its registrar is to name our name servers"
  return `Its registrar names ${seen.join(", ") || "no name servers"}`
}

function Connect() {
  const navigate = useNavigate()
  const placeOf = usePlace()
  return (
    <CallDialog<{ readonly domain: string }, Schema<"Domain">>
      label="Connect a domain"
      variant="filled"
      says="Its records are copied first, so that nothing breaks. Nothing changes for anybody until its registrar names our name servers. At most six are connected or checked a minute."
      initial={{ domain: "" }}
      check={{
        domain: (text) =>
          /^[^\s@/:]+\.[^\s@/:]+$/.test(text.trim()) ? null : "A domain, such as acme.com",
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
          description="As it was registered, without www"
          data-autofocus
          autoComplete="off"
          {...form.getInputProps("domain")}
        />
      )}
      does="Connect"
      done={({ domain }) => `${domain} was connected.`}
      onDone={({ id }) => void navigate({ to: placeOf(`domains/${id}`) })}
    />
  )
}
