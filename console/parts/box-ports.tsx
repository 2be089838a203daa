import { Stack, Text, TextInput } from "@mantine/core"
import { useState } from "react"
import type { Box } from "../api/code-answers.ts"
import { answerOf, useApi } from "../api/company.ts"
import { ApiAction } from "./api-action.tsx"
import { curlOf } from "./copy-as.tsx"
import { DataTable } from "./data-table.tsx"
import { Empty } from "./empty.tsx"
import { WebLink } from "./link.tsx"

interface BoxPortsProps {
  readonly box: Box
  readonly mayChange: boolean
}

/** Ports of a box that can be opened by a link. */
export function BoxPorts({ box: { id, previews }, mayChange }: BoxPortsProps) {
  return (
    <Stack>
      <Text size="sm" c="dimmed">
        Whoever has such a link can open it until the box stops or the port is closed.
      </Text>
      <DataTable
        label="Ports"
        rows={previews}
        rowKey={({ port }) => String(port)}
        columns={[
          { ...{ title: "Port", isNumber: true }, cell: ({ port }) => port },
          { title: "Link", cell: ({ url }) => <WebLink href={url} /> },
          ...(mayChange
            ? [
                {
                  ...{ title: "Change", isNumber: true },
                  cell: ({ port }: { readonly port: number }) => <Close boxId={id} port={port} />,
                },
              ]
            : []),
        ]}
        empty={
          <Empty
            title="No port is open"
            says="What listens in the box can be opened in a browser by a link of its own."
            command={`POST /api/v1/sandboxes/${id}/previews {"port": 3000}`}
          />
        }
      />
      {mayChange ? <Open boxId={id} /> : null}
    </Stack>
  )
}

function Open({ boxId }: { readonly boxId: string }) {
  const api = useApi()
  const [typed, setTyped] = useState("3000")
  const port = Number(typed)
  const isPort = /^\d{4,5}$/.test(typed) && port >= 1_024 && port <= 65_535
  const params = { path: { id: boxId } }
  return (
    <div>
      <ApiAction
        label="Open a port"
        says="A link is made that leads to this port of the box. Whoever has it needs no key."
        done="The port is open."
        isReady={isPort}
        curl={curlOf(`/api/v1/sandboxes/${boxId}/previews`, "POST", { port })}
        does={() =>
          answerOf(api.POST("/api/v1/sandboxes/{id}/previews", { params, body: { port } }))
        }
      >
        <TextInput
          label="Port"
          inputMode="numeric"
          value={typed}
          error={isPort ? null : "A number from 1024 to 65535"}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
      </ApiAction>
    </div>
  )
}

function Close({ boxId, port }: { readonly boxId: string; readonly port: number }) {
  const api = useApi()
  const path = "/api/v1/sandboxes/{id}/previews/{port}" as const
  return (
    <ApiAction
      label="Close"
      variant="subtle"
      says="The link leads nowhere any more. Opening the port again makes another one."
      done="The port is closed."
      isDangerous
      curl={curlOf(`/api/v1/sandboxes/${boxId}/previews/${port}`, "DELETE")}
      does={() =>
        answerOf(api.DELETE(path, { params: { path: { id: boxId, port: String(port) } } }))
      }
    />
  )
}
