import { Button, Group, Stack, TextInput } from "@mantine/core"
import { useMutation, useQuery } from "@tanstack/react-query"
import { useState } from "react"
import type { Schema } from "../api/api-client.ts"
import { responseData, useApi } from "../api/api-client.ts"
import { queryClient } from "../api/query-client.ts"
import { useMe } from "../api/session.ts"
import { ApiCallButton } from "./api-call-button.tsx"
import type { TableColumn } from "./data-table.tsx"
import { DataTable } from "./data-table.tsx"
import { EmptyState } from "./empty-state.tsx"
import { ErrorAlert } from "./error-alert.tsx"
import { useFilters } from "./filters.ts"
import { QueryView } from "./query-view.tsx"
import { Section } from "./page-layout.tsx"
import { StatusBadge } from "./status-badge.tsx"
import { TextView } from "./text-view.tsx"

type Process = Schema<"BoxProcess">

const TIMEOUT_MS = 120_000

interface BoxProps {
  readonly boxId: string
}

/** Commands in a box, in the foreground and background. */
export function BoxCommands({ boxId, mayRun }: BoxProps & { readonly mayRun: boolean }) {
  const [{ process }] = useFilters()
  return (
    <Stack gap="xl">
      {mayRun ? <RunCommand boxId={boxId} /> : null}
      <Processes boxId={boxId} mayRun={mayRun} />
      {process === undefined ? null : <CommandLogs boxId={boxId} process={process} />}
    </Stack>
  )
}

function RunCommand({ boxId }: BoxProps) {
  const { companyId } = useMe()
  const api = useApi()
  const [command, setCommand] = useState("")
  const params = { path: { id: boxId } }
  const running = useMutation({
    mutationFn: () =>
      responseData(
        api.POST("/api/v1/sandboxes/{id}/exec", {
          params,
          body: { command, timeoutMs: TIMEOUT_MS },
        }),
      ),
    onSettled: () => queryClient.invalidateQueries({ queryKey: [companyId, "boxes"] }),
  })
  const spawning = useMutation({
    mutationFn: () =>
      responseData(api.POST("/api/v1/sandboxes/{id}/processes", { params, body: { command } })),
    onSettled: () => queryClient.invalidateQueries({ queryKey: [companyId, "boxes"] }),
  })
  const isEmpty = command.trim() === ""
  const error = running.error ?? spawning.error
  return (
    <Stack
      component="form"
      gap="sm"
      onSubmit={(event: { preventDefault: () => void }) => {
        event.preventDefault()
        if (!isEmpty) running.mutate()
      }}
    >
      <TextInput
        label="Run a command"
        description="Runs in the repository's folder for at most two minutes. The activity log records it."
        placeholder="npm test"
        value={command}
        autoComplete="off"
        maw={760}
        onChange={(event) => setCommand(event.currentTarget.value)}
      />
      <Group gap="xs">
        <Button type="submit" loading={running.isPending} disabled={isEmpty}>
          Run
        </Button>
        <Button
          variant="default"
          loading={spawning.isPending}
          disabled={isEmpty}
          onClick={() => spawning.mutate()}
        >
          Run in the background
        </Button>
      </Group>
      {error === null ? null : <ErrorAlert error={error} />}
      {running.data === undefined ? null : <CommandResult {...running.data} />}
    </Stack>
  )
}

interface CommandResultProps {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

function CommandResult({ exitCode, stdout, stderr }: CommandResultProps) {
  return (
    <Stack gap="sm" role="status">
      <StatusBadge tone={exitCode === 0 ? "good" : "bad"}>{`Exit code ${exitCode}`}</StatusBadge>
      {stdout === "" ? null : <TextView title="Output" text={stdout} isLog />}
      {stderr === "" ? null : <TextView title="Errors" text={stderr} isLog />}
    </Stack>
  )
}

function Processes({ boxId, mayRun }: BoxProps & { readonly mayRun: boolean }) {
  const { companyId } = useMe()
  const api = useApi()
  const found = useQuery({
    queryKey: [companyId, "boxes", boxId, "processes"],
    queryFn: () =>
      responseData(
        api.GET("/api/v1/sandboxes/{id}/processes", { params: { path: { id: boxId } } }),
      ),
  })
  const columns: readonly TableColumn<Process>[] = [
    { title: "Command", cell: ({ command }) => command },
    {
      title: "Status",
      cell: ({ status, exitCode }) =>
        status === "running" ? (
          <StatusBadge tone="good">Running</StatusBadge>
        ) : (
          <StatusBadge
            tone={exitCode === 0 ? "quiet" : "bad"}
          >{`Exited with ${exitCode}`}</StatusBadge>
        ),
    },
    { title: "Process", isNumber: true, isHiddenOnNarrow: true, cell: ({ pid }) => pid },
    {
      title: "Change",
      isNumber: true,
      cell: ({ id, status }) =>
        mayRun && status === "running" ? <StopCommand boxId={boxId} process={id} /> : null,
    },
  ]
  return (
    <Section title="In the background">
      <QueryView query={found}>
        {({ processes }) => (
          <DataTable
            label="Background commands"
            columns={columns}
            rows={processes}
            rowKey={({ id }) => id}
            place={({ id }) => ({
              to: `boxes/${boxId}`,
              search: { tab: "commands", process: id },
            })}
            empty={
              <EmptyState
                title="No background commands"
                description="Start a server or watcher in the background: it continues while other commands run."
              />
            }
          />
        )}
      </QueryView>
    </Section>
  )
}

function StopCommand({ boxId, process }: BoxProps & { readonly process: string }) {
  return (
    <ApiCallButton
      label="Stop"
      variant="subtle"
      description="Ends the command and the processes it started."
      successMessage="The command was stopped."
      isDangerous
      changeOf={() => ({
        method: "DELETE",
        path: `/api/v1/sandboxes/${boxId}/processes/${process}`,
      })}
    />
  )
}

function CommandLogs({ boxId, process }: BoxProps & { readonly process: string }) {
  const { companyId } = useMe()
  const api = useApi()
  const params = { path: { id: boxId, process } }
  const found = useQuery({
    queryKey: [companyId, "boxes", boxId, "processes", process],
    queryFn: () =>
      responseData(api.GET("/api/v1/sandboxes/{id}/processes/{process}/logs", { params })),
  })
  return (
    <Section
      title="Output of the command"
      actions={
        <Button variant="default" size="xs" onClick={() => void found.refetch()}>
          Refresh
        </Button>
      }
    >
      <QueryView query={found}>
        {({ stdout, stderr }) => (
          <Stack>
            <TextView title="Output" text={stdout === "" ? "No output yet." : stdout} isLog />
            {stderr === "" ? null : <TextView title="Errors" text={stderr} isLog />}
          </Stack>
        )}
      </QueryView>
    </Section>
  )
}
