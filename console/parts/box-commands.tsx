import { Button, Group, Stack, TextInput } from "@mantine/core"
import { useMutation, useQuery } from "@tanstack/react-query"
import { useState } from "react"
import type { Schema } from "../api/company.ts"
import { answerOf, useApi } from "../api/company.ts"
import { asked } from "../api/queries.ts"
import { useMe } from "../api/session.ts"
import { CallDialog } from "./call-dialog.tsx"
import type { Column } from "./data-table.tsx"
import { DataTable } from "./data-table.tsx"
import { Empty } from "./empty.tsx"
import { Fault } from "./fault.tsx"
import { useFilters } from "./filters.ts"
import { Loaded } from "./loaded.tsx"
import { Section } from "./page.tsx"
import { Status } from "./status.tsx"
import { TextView } from "./text-view.tsx"

type Process = Schema<"BoxProcess">

/** After so long a command that is waited for is ended. */
const MOST_MS = 120_000

interface OfBox {
  readonly boxId: string
}

/** Commands in a box: run now, or in the background. */
export function BoxCommands({ boxId, mayRun }: OfBox & { readonly mayRun: boolean }) {
  const [{ process }] = useFilters()
  return (
    <Stack gap="xl">
      {mayRun ? <Run boxId={boxId} /> : null}
      <Processes boxId={boxId} mayRun={mayRun} />
      {process === undefined ? null : <Logs boxId={boxId} process={process} />}
    </Stack>
  )
}

function Run({ boxId }: OfBox) {
  const { companyId } = useMe()
  const api = useApi()
  const [command, setCommand] = useState("")
  const params = { path: { id: boxId } }
  const running = useMutation({
    mutationFn: () =>
      answerOf(
        api.POST("/api/v1/sandboxes/{id}/exec", { params, body: { command, timeoutMs: MOST_MS } }),
      ),
    onSettled: () => asked.invalidateQueries({ queryKey: [companyId, "boxes"] }),
  })
  const spawning = useMutation({
    mutationFn: () =>
      answerOf(api.POST("/api/v1/sandboxes/{id}/processes", { params, body: { command } })),
    onSettled: () => asked.invalidateQueries({ queryKey: [companyId, "boxes"] }),
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
        description="In the repository's folder, at most two minutes. It is noted in the activity."
        placeholder="npm test"
        {...{ value: command, autoComplete: "off", maw: 760 }}
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
      {error === null ? null : <Fault error={error} />}
      {running.data === undefined ? null : <Ran {...running.data} />}
    </Stack>
  )
}

interface RanProps {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

function Ran({ exitCode, stdout, stderr }: RanProps) {
  return (
    <Stack gap="sm" role="status">
      <Status tone={exitCode === 0 ? "good" : "bad"}>{`Exit code ${exitCode}`}</Status>
      {stdout === "" ? null : <TextView title="What it wrote" text={stdout} isLog />}
      {stderr === "" ? null : <TextView title="What it complained of" text={stderr} isLog />}
    </Stack>
  )
}

function Processes({ boxId, mayRun }: OfBox & { readonly mayRun: boolean }) {
  const { companyId } = useMe()
  const api = useApi()
  const found = useQuery({
    queryKey: [companyId, "boxes", boxId, "processes"],
    queryFn: () =>
      answerOf(api.GET("/api/v1/sandboxes/{id}/processes", { params: { path: { id: boxId } } })),
  })
  const columns: readonly Column<Process>[] = [
    { title: "Command", cell: ({ command }) => command },
    {
      title: "Status",
      cell: ({ status, exitCode }) =>
        status === "running" ? (
          <Status tone="good">Running</Status>
        ) : (
          <Status tone={exitCode === 0 ? "quiet" : "bad"}>{`Exited with ${exitCode}`}</Status>
        ),
    },
    { title: "Process", isNumber: true, isWide: true, cell: ({ pid }) => pid },
    {
      title: "Change",
      isNumber: true,
      cell: ({ id, status }) =>
        mayRun && status === "running" ? <Stop boxId={boxId} process={id} /> : null,
    },
  ]
  return (
    <Section title="In the background">
      <Loaded of={found}>
        {({ processes }) => (
          <DataTable
            {...{ label: "Background commands", columns, rows: processes }}
            rowKey={({ id }) => id}
            place={({ id }) => ({
              to: `boxes/${boxId}`,
              search: { tab: "commands", process: id },
            })}
            empty={
              <Empty
                title="Nothing runs in the background"
                says="A server or a watcher is started so: it goes on while other commands run."
              />
            }
          />
        )}
      </Loaded>
    </Section>
  )
}

function Stop({ boxId, process }: OfBox & { readonly process: string }) {
  return (
    <CallDialog
      label="Stop"
      variant="subtle"
      says="The command and all that it started are ended."
      done="The command was stopped."
      isDangerous
      changeOf={() => ({
        method: "DELETE",
        path: `/api/v1/sandboxes/${boxId}/processes/${process}`,
      })}
    />
  )
}

function Logs({ boxId, process }: OfBox & { readonly process: string }) {
  const { companyId } = useMe()
  const api = useApi()
  const params = { path: { id: boxId, process } }
  const found = useQuery({
    queryKey: [companyId, "boxes", boxId, "processes", process],
    queryFn: () => answerOf(api.GET("/api/v1/sandboxes/{id}/processes/{process}/logs", { params })),
  })
  return (
    <Section
      title="What it wrote"
      actions={
        <Button variant="default" size="xs" onClick={() => void found.refetch()}>
          Look again
        </Button>
      }
    >
      <Loaded of={found}>
        {({ stdout, stderr }) => (
          <Stack>
            <TextView title="Output" text={stdout === "" ? "Nothing so far." : stdout} isLog />
            {stderr === "" ? null : <TextView title="Complaints" text={stderr} isLog />}
          </Stack>
        )}
      </Loaded>
    </Section>
  )
}
