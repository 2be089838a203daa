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

/** The web addresses under a domain that lead to the company's app. */
export function AppAddresses({ domain }: { readonly domain: Domain }) {
  return (
    <Section
      title="Web addresses"
      description="They lead to your app."
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
            title: "What is wrong",
            isHiddenOnNarrow: true,
            cell: ({ error }) => error ?? "Nothing",
          },
        ]}
        empty={
          <EmptyState
            title="No web address leads to your app from here"
            description="Point the domain itself or a name under it at your app; its records are made for you."
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
      description="Records of this name that lead elsewhere are replaced."
      initialValues={{ hostname: `app.${domain}` }}
      validators={{
        hostname: (text) =>
          text.trim() === domain || text.trim().endsWith(`.${domain}`)
            ? null
            : `${domain}, or a name under it`,
      }}
      changeOf={({ hostname }) => ({
        method: "POST",
        path: "/api/v1/domain",
        body: { action: "save_app_address", domainId: id, hostname: hostname.trim() },
      })}
      fields={(form) => (
        <TextInput label="Host name" data-autofocus {...form.getInputProps("hostname")} />
      )}
      submitLabel="Point it"
      successMessage="It leads to your app once its domain points here."
    />
  )
}
