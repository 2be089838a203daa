import { Group, Stack, Text } from "@mantine/core"
import type { MailCopy, MailList } from "../../api/work-answers.ts"
import { useAnswer, useCommand, useOperation } from "../../api/operations.ts"
import { CopyAs } from "../../parts/copy-as.tsx"
import type { Column } from "../../parts/data-table.tsx"
import { DataTable } from "../../parts/data-table.tsx"
import { Empty } from "../../parts/empty.tsx"
import { FilterBar } from "../../parts/filter-bar.tsx"
import { useFilters } from "../../parts/filters.ts"
import { Loaded } from "../../parts/loaded.tsx"
import { OneLine } from "../../parts/one-line.tsx"
import { Section } from "../../parts/page.tsx"
import { SearchBox } from "../../parts/search-box.tsx"
import { Time } from "../../parts/time.tsx"
import { MAIL_STATUSES, MailStatus } from "./mail-status.tsx"
import { SendTest } from "./send-test.tsx"

/** So many are shown, a row for each recipient. */
const MOST_MAILS = 500

/** What was sent, a row for each recipient. */
export function Mails() {
  const found = useAnswer<MailList>("email-list", { limit: MOST_MAILS })
  const operation = useOperation("email-list")
  const commandOf = useCommand()
  return (
    <Section
      title="Mails"
      says="A row for each recipient, the newest first."
      actions={
        <>
          {operation === null ? null : <CopyAs command={commandOf(operation, {})} />}
          <SendTest />
        </>
      }
    >
      <Stack>
        <Group gap="xs">
          <SearchBox name="to" label="Recipient" />
          <FilterBar filters={[{ name: "status", label: "Status", options: MAIL_STATUSES }]} />
        </Group>
        <Loaded of={found} lines={8}>
          {({ emails }) => <List emails={emails} />}
        </Loaded>
      </Stack>
    </Section>
  )
}

function List({ emails }: MailList) {
  const [{ status, to }] = useFilters()
  const wanted = to?.toLowerCase() ?? ""
  const rows = emails
    .filter((one) => status === undefined || one.status === status)
    .filter((one) => wanted === "" || (one.to ?? "").toLowerCase().includes(wanted))
  const columns: readonly Column<MailCopy>[] = [
    { title: "To", cell: (mail) => <OneLine text={mail.to ?? "Erased"} width={260} /> },
    {
      title: "From",
      isWide: true,
      cell: ({ from }) => <OneLine text={from ?? "Erased"} width={260} />,
    },
    {
      title: "Status",
      cell: (mail) => <MailStatus status={mail.status} />,
      sortBy: (mail) => mail.status,
    },
    { title: "Code", isWide: true, cell: ({ code }) => code ?? "–" },
    {
      title: "Sent",
      isWide: true,
      cell: ({ sentAt }) => <Time at={sentAt} />,
      sortBy: (mail) => mail.sentAt,
    },
  ]
  return (
    <Stack gap="sm">
      <DataTable
        {...{ label: "Mails", columns, rows }}
        rowKey={({ mailId, n }) => `${mailId} ${n}`}
        place={({ mailId }) => ({ to: `email/${mailId}` })}
        empty={
          <Empty
            title="No mails here"
            says="What your programs send by mail is listed here, with what became of it for each recipient."
            command={`POST /api/v1/email/send {"from": "hello@mail.acme.com", "to": "ada@example.com", "subject": "Hello", "text": "Hello"}`}
          />
        }
      />
      {emails.length < MOST_MAILS ? null : (
        <Text size="sm" c="dimmed">
          These are the newest {MOST_MAILS}. The command lists more.
        </Text>
      )}
    </Stack>
  )
}
