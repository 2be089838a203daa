import { TextInput } from "@mantine/core"
import type { Schema } from "../../api/api-client.ts"
import { ApiCallButton } from "../../parts/api-call-button.tsx"
import { curlOfChange } from "../../parts/copy-command.tsx"
import { DataTable } from "../../parts/data-table.tsx"
import { EmptyState } from "../../parts/empty-state.tsx"
import { Section } from "../../parts/page-layout.tsx"
import { WebLink } from "../../parts/web-link.tsx"
import { AddressStatusBadge } from "./domain-status.tsx"

type Domain = Schema<"Domain">

/** The web addresses of a domain that lead to the company's app. */
export function AppAddresses({ domain }: { readonly domain: Domain }) {
  return (
    <Section
      title="Web addresses"
      description="Addresses that lead to your app."
      actions={<PointAddress domain={domain} />}
    >
      <DataTable
        label="Web addresses"
        rows={domain.appAddresses}
        rowKey={({ id }) => id}
        columns={[
          {
            title: "Address",
            cell: ({ hostname }) => <WebLink address={`https://${hostname}`} />,
            sortBy: ({ hostname }) => hostname,
          },
          { title: "Status", cell: ({ status }) => <AddressStatusBadge status={status} /> },
          {
            title: "Problem",
            isHiddenOnNarrow: true,
            cell: ({ error }) => error ?? "None",
          },
        ]}
        empty={
          <EmptyState
            title="No web addresses"
            description="Point the domain or a name under it at your app. We create the records."
            command={curlOfChange({
              method: "POST",
              path: "/api/v1/domain",
              body: {
                action: "save_app_address",
                domainId: domain.id,
                hostname: `app.${domain.domain}`,
              },
            })}
          />
        }
      />
    </Section>
  )
}

function PointAddress({ domain: { id, domain } }: { readonly domain: Domain }) {
  return (
    <ApiCallButton<{ readonly hostname: string }>
      label="Point an address at your app"
      description="Replaces records of this name that lead elsewhere."
      initialValues={{ hostname: `app.${domain}` }}
      validators={{
        hostname: (text) =>
          text.trim() === domain || text.trim().endsWith(`.${domain}`)
            ? null
            : `Must be ${domain} or a name under it`,
      }}
      changeOf={({ hostname }) => ({
        method: "POST",
        path: "/api/v1/domain",
        body: { action: "save_app_address", domainId: id, hostname: hostname.trim() },
      })}
      fields={(form) => (
        <TextInput label="Host name" data-autofocus {...form.getInputProps("hostname")} />
      )}
      submitLabel="Save"
      successMessage="The address leads to your app when its domain uses our name servers."
    />
  )
}
