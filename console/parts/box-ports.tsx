import { Stack, Text, TextInput } from "@mantine/core"
import type { Box } from "../api/code-answers.ts"
import { ApiCallButton } from "./api-call-button.tsx"
import { curlOfChange } from "./copy-command.tsx"
import { DataTable } from "./data-table.tsx"
import { EmptyState } from "./empty-state.tsx"
import { WebLink } from "./web-link.tsx"

interface BoxPortsProps {
  readonly box: Box
  readonly mayChange: boolean
}

/** The preview links of a box. */
export function BoxPorts({ box: { id, previews }, mayChange }: BoxPortsProps) {
  return (
    <Stack>
      <Text size="sm" c="dimmed">
        Anyone with the link can open it until the box stops or the port is closed.
      </Text>
      <DataTable
        label="Ports"
        rows={previews}
        rowKey={({ port }) => String(port)}
        columns={[
          { title: "Port", isNumber: true, cell: ({ port }) => port },
          { title: "Link", cell: ({ url }) => <WebLink address={url} /> },
          ...(mayChange
            ? [
                {
                  title: "Change",
                  isNumber: true,
                  cell: ({ port }: { readonly port: number }) => (
                    <ClosePort boxId={id} port={port} />
                  ),
                },
              ]
            : []),
        ]}
        empty={
          <EmptyState
            title="No port is open"
            description="Open a port to get a link to the program that listens on it."
            command={curlOfChange({
              method: "POST",
              path: `/api/v1/sandboxes/${id}/previews`,
              body: { port: 3000 },
            })}
          />
        }
      />
      {mayChange ? <OpenPort boxId={id} /> : null}
    </Stack>
  )
}

const portFault = (text: string): string | null =>
  /^\d{4,5}$/.test(text) && Number(text) >= 1_024 && Number(text) <= 65_535
    ? null
    : "Must be a number from 1024 to 65535"

function OpenPort({ boxId }: { readonly boxId: string }) {
  return (
    <div>
      <ApiCallButton
        label="Open a port"
        description="Creates a link to this port of the box. Anyone with the link can open it without a key."
        successMessage="The port is open."
        initialValues={{ port: "3000" }}
        validators={{ port: portFault }}
        fields={(form) => (
          <TextInput label="Port" inputMode="numeric" {...form.getInputProps("port")} />
        )}
        changeOf={({ port }) => ({
          method: "POST",
          path: `/api/v1/sandboxes/${boxId}/previews`,
          body: { port: Number(port) },
        })}
      />
    </div>
  )
}

function ClosePort({ boxId, port }: { readonly boxId: string; readonly port: number }) {
  return (
    <ApiCallButton
      label="Close"
      variant="subtle"
      description="The link stops working. Opening the port again creates a new one."
      successMessage="The port is closed."
      isDangerous
      changeOf={() => ({ method: "DELETE", path: `/api/v1/sandboxes/${boxId}/previews/${port}` })}
    />
  )
}
