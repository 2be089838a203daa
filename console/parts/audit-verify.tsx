import { Alert, Button, Group, Progress, SimpleGrid, Stack, Text, TextInput } from "@mantine/core"
import { useMutation } from "@tanstack/react-query"
import { useState } from "react"
import type { Verdict } from "../api/audit-answers.ts"
import { operate, useCommand, useOperation } from "../api/operations.ts"
import { useMe } from "../api/session.ts"
import { CopyAs } from "./copy-as.tsx"
import { DataTable } from "./data-table.tsx"
import { Facts } from "./facts.tsx"
import { Fault } from "./fault.tsx"
import { TextLink } from "./link.tsx"
import { Figure, Section } from "./page.tsx"
import { Status } from "./status.tsx"

const HASH = /^[0-9a-f]{64}$/

/** Checks all that is stored of the company anew, and says what was checked, or what is wrong. */
export function Verify() {
  const { companyId } = useMe()
  const operation = useOperation("audit-verify")
  const commandOf = useCommand()
  const [noted, setNoted] = useState("")
  const head = noted.trim()
  const input = head === "" ? {} : { head }
  const fault = head === "" || HASH.test(head) ? null : "64 hexadecimal digits, in small letters"
  const verifying = useMutation({
    mutationFn: () => operate<Verdict>(companyId, "audit-verify", input),
  })
  return (
    <Section
      title="Verify"
      says="Every hash is computed again, and every decision made again from what was known then."
    >
      <Stack
        component="form"
        onSubmit={(event: { preventDefault: () => void }) => {
          event.preventDefault()
          if (fault === null) verifying.mutate()
        }}
      >
        <TextInput
          label="A head or hash that you noted"
          description="It must be in the history still. Empty: all else is checked."
          {...{ value: noted, error: fault, maw: 640, autoComplete: "off" }}
          onChange={(event) => setNoted(event.currentTarget.value)}
        />
        <Group gap="xs">
          <Button type="submit" loading={verifying.isPending} disabled={fault !== null}>
            Verify
          </Button>
          {operation === null ? null : <CopyAs command={commandOf(operation, input)} />}
        </Group>
        {verifying.isPending ? <Going /> : null}
        {verifying.error === null || verifying.isPending ? null : <Fault error={verifying.error} />}
        {verifying.data === undefined || verifying.isPending ? null : <Found {...verifying.data} />}
      </Stack>
    </Section>
  )
}

function Going() {
  return (
    <Stack gap={4} role="status" maw={640}>
      <Progress value={100} animated aria-label="Verifying" />
      <Text size="sm" c="dimmed">
        All events are read and decided again. Of many that takes minutes; leaving this page loses
        the answer and nothing else.
      </Text>
    </Stack>
  )
}

function Found({ ok, checks, firstBroken, streams, events, skipped }: Verdict) {
  const held = checks.filter((one) => one.ok).length
  return (
    <Stack gap="lg">
      <Alert
        color={ok ? "green" : "red"}
        variant="light"
        title={ok ? "Everything holds" : "Something does not hold"}
        role={ok ? "status" : "alert"}
      >
        {ok
          ? "Nothing was changed, left out or put in since it was recorded."
          : "Keep what you see, export the ledger, and hand both to whoever runs the installation."}
      </Alert>
      {firstBroken === null ? null : <Broken {...firstBroken} />}
      <SimpleGrid cols={{ base: 1, xs: 3 }}>
        <Figure label="Events read">{events.toLocaleString("en-US")}</Figure>
        <Figure label="Streams">{streams.toLocaleString("en-US")}</Figure>
        <Figure label="Checks that hold">{`${held} of ${checks.length}`}</Figure>
      </SimpleGrid>
      <DataTable
        label="Checks"
        rows={checks}
        rowKey={({ name }) => name}
        columns={[
          { title: "Check", cell: ({ name }) => sentence(name) },
          {
            title: "Holds",
            cell: (one) => <Status tone={one.ok ? "good" : "bad"}>{one.ok ? "Yes" : "No"}</Status>,
          },
          { title: "Looked at", isWide: true, cell: ({ detail }) => detail },
        ]}
        empty={null}
      />
      <NotLookedAt skipped={skipped} />
    </Stack>
  )
}

function NotLookedAt({ skipped }: Pick<Verdict, "skipped">) {
  if (skipped.length === 0) return null
  return (
    <Section title="Not looked at" says="So that nobody takes it for proven.">
      <Facts
        of={skipped.map(({ what, count, why }) => [
          sentence(count === null ? what : `${count} ${what}`),
          sentence(why),
        ])}
      />
    </Section>
  )
}

function Broken({ check, stream, revision, expected, found }: NonNullable<Verdict["firstBroken"]>) {
  return (
    <Section title="The first place that does not hold" says={sentence(check)}>
      <Facts
        of={[
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
