import { Alert, Button, Group, Progress, SimpleGrid, Stack, Text, TextInput } from "@mantine/core"
import { useMutation } from "@tanstack/react-query"
import { useState } from "react"
import type { AuditReport } from "../api/audit-answers.ts"
import { callOperation, useCommand, useOperation } from "../api/operations.ts"
import { useMe } from "../api/session.ts"
import { CopyCommandButton } from "./copy-command.tsx"
import { DataTable } from "./data-table.tsx"
import { DetailList } from "./detail-list.tsx"
import { ErrorAlert } from "./error-alert.tsx"
import { TextLink } from "./link.tsx"
import { KeyFigure, Section } from "./page-layout.tsx"
import { StatusBadge } from "./status-badge.tsx"

const HASH = /^[0-9a-f]{64}$/

/** Verifies everything stored about the company, and shows the checks and the first error. */
export function VerifySection() {
  const { companyId } = useMe()
  const operation = useOperation("audit-verify")
  const commandOf = useCommand()
  const [noted, setNoted] = useState("")
  const head = noted.trim()
  const input = head === "" ? {} : { head }
  const fault = head === "" || HASH.test(head) ? null : "Must be 64 lowercase hexadecimal digits"
  const verifying = useMutation({
    mutationFn: () => callOperation<AuditReport>(companyId, "audit-verify", input),
  })
  return (
    <Section
      title="Verify"
      description="Calculates every hash again, and decides every command again from the facts before it."
    >
      <Stack
        component="form"
        onSubmit={(event: { preventDefault: () => void }) => {
          event.preventDefault()
          if (fault === null) verifying.mutate()
        }}
      >
        <TextInput
          label="A head or hash that you saved"
          description="Checks that it is still in the history. Leave empty for all other checks."
          value={noted}
          error={fault}
          maw={640}
          autoComplete="off"
          onChange={(event) => setNoted(event.currentTarget.value)}
        />
        <Group gap="xs">
          <Button type="submit" loading={verifying.isPending} disabled={fault !== null}>
            Verify
          </Button>
          {operation === null ? null : <CopyCommandButton command={commandOf(operation, input)} />}
        </Group>
        {verifying.isPending ? <VerifyProgress /> : null}
        {verifying.error === null || verifying.isPending ? null : (
          <ErrorAlert error={verifying.error} />
        )}
        {verifying.data === undefined || verifying.isPending ? null : (
          <VerifyResult {...verifying.data} />
        )}
      </Stack>
    </Section>
  )
}

function VerifyProgress() {
  return (
    <Stack gap={4} role="status" maw={640}>
      <Progress value={100} animated aria-label="Verifying" />
      <Text size="sm" c="dimmed">
        All events are read and decided again. For many events this takes minutes. If you leave this
        page, only the result is lost.
      </Text>
    </Stack>
  )
}

function VerifyResult({ ok, checks, firstBroken, streams, events, skipped }: AuditReport) {
  const held = checks.filter((one) => one.ok).length
  return (
    <Stack gap="lg">
      <Alert
        color={ok ? "green" : "red"}
        variant="light"
        title={ok ? "All checks passed" : "A check failed"}
        role={ok ? "status" : "alert"}
      >
        {ok
          ? "No event was changed, removed or inserted since it was recorded."
          : "Save this result, export the ledger, and send both to the operator of this installation."}
      </Alert>
      {firstBroken === null ? null : <FirstBroken {...firstBroken} />}
      <SimpleGrid cols={{ base: 1, xs: 3 }}>
        <KeyFigure label="Events read">{events.toLocaleString("en-US")}</KeyFigure>
        <KeyFigure label="Streams">{streams.toLocaleString("en-US")}</KeyFigure>
        <KeyFigure label="Checks passed">{`${held} of ${checks.length}`}</KeyFigure>
      </SimpleGrid>
      <DataTable
        label="Checks"
        rows={checks}
        rowKey={({ name }) => name}
        columns={[
          { title: "Check", cell: ({ name }) => sentence(name) },
          {
            title: "Passed",
            cell: (one) => (
              <StatusBadge tone={one.ok ? "good" : "bad"}>{one.ok ? "Yes" : "No"}</StatusBadge>
            ),
          },
          { title: "Checked", isHiddenOnNarrow: true, cell: ({ detail }) => detail },
        ]}
        empty={null}
      />
      <SkippedChecks skipped={skipped} />
    </Stack>
  )
}

function SkippedChecks({ skipped }: Pick<AuditReport, "skipped">) {
  if (skipped.length === 0) return null
  return (
    <Section title="Not checked" description="These parts are not proven.">
      <DetailList
        items={skipped.map(({ check, count, reason }) => [
          sentence(count === null ? check : `${count} ${check}`),
          sentence(reason),
        ])}
      />
    </Section>
  )
}

function FirstBroken({
  check,
  stream,
  revision,
  expected,
  found,
}: NonNullable<AuditReport["firstBroken"]>) {
  return (
    <Section title="First failed check" description={sentence(check)}>
      <DetailList
        items={[
          [
            "Where",
            stream === "" ? (
              "In the whole history"
            ) : (
              <TextLink key="where" to={`ledger/${stream}`} search={{ event: String(revision) }}>
                {`${stream}, revision ${revision}`}
              </TextLink>
            ),
          ],
          ["Expected", expected],
          ["Found", found],
        ]}
      />
    </Section>
  )
}

const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)
