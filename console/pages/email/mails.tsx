import { Group, Stack, Text } from "@mantine/core"
import type { MailCopy, MailList } from "../../api/outreach-answers.ts"
import { useOperationQuery, useCommand, useOperation } from "../../api/operations.ts"
import { CopyCommandButton, curlOfChange } from "../../parts/copy-command.tsx"
import type { TableColumn } from "../../parts/data-table.tsx"
import { DataTable } from "../../parts/data-table.tsx"
import { EmptyState } from "../../parts/empty-state.tsx"
import { FilterBar } from "../../parts/filter-bar.tsx"
import { useFilters } from "../../parts/filters.ts"
import { QueryView } from "../../parts/query-view.tsx"
import { TruncatedText } from "../../parts/truncated-text.tsx"
import { Section } from "../../parts/page-layout.tsx"
import { SearchBox } from "../../parts/search-box.tsx"
import { Time } from "../../parts/time.tsx"
import { MAIL_STATUSES, MailStatusBadge } from "./mail-status.tsx"
import { SendTestMail } from "./send-test.tsx"

/** Maximum of shown rows, one per recipient. */
const MAX_MAILS = 500

/** Sent mails, one row per recipient. */
export function Mails() {
  const found = useOperationQuery<MailList>("email-list", { limit: MAX_MAILS })
  const operation = useOperation("email-list")
  const commandOf = useCommand()
  return (
    <Section
      title="Mails"
      description="One row per recipient, newest first."
      actions={
        <>
          {operation === null ? null : <CopyCommandButton command={commandOf(operation, {})} />}
          <SendTestMail />
        </>
      }
    >
      <Stack>
        <Group gap="xs">
          <SearchBox name="to" label="Recipient" />
          <FilterBar filters={[{ name: "status", label: "Status", options: MAIL_STATUSES }]} />
        </Group>
        <QueryView query={found} lines={8}>
          {({ emails }) => <List emails={emails} />}
        </QueryView>
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
  const columns: readonly TableColumn<MailCopy>[] = [
    { title: "To", cell: (mail) => <TruncatedText text={mail.to ?? "Erased"} width={260} /> },
    {
      title: "From",
      isHiddenOnNarrow: true,
      cell: ({ from }) => <TruncatedText text={from ?? "Erased"} width={260} />,
    },
    {
      title: "Status",
      cell: (mail) => <MailStatusBadge status={mail.status} />,
      sortBy: (mail) => mail.status,
    },
    { title: "Code", isHiddenOnNarrow: true, cell: ({ code }) => code ?? "–" },
    {
      title: "Sent",
      isHiddenOnNarrow: true,
      cell: ({ sentAt }) => <Time at={sentAt} />,
      sortBy: (mail) => mail.sentAt,
    },
  ]
  return (
    <Stack gap="sm">
      <DataTable
        label="Mails"
        columns={columns}
        rows={rows}
        rowKey={({ mailId, recipientIndex }) => `${mailId} ${recipientIndex}`}
        place={({ mailId }) => ({ to: `email/${mailId}` })}
        empty={
          <EmptyState
            title="No mails"
            description="Mails that your programs send appear here, with the status of each recipient."
            command={curlOfChange({
              method: "POST",
              path: "/api/v1/email/send",
              body: {
                from: "hello@mail.acme.com",
                to: "ada@example.com",
                subject: "Hello",
                text: "Hello",
              },
            })}
          />
        }
      />
      {emails.length < MAX_MAILS ? null : (
        <Text size="sm" c="dimmed">
          Showing the newest {MAX_MAILS}. The command lists more.
        </Text>
      )}
    </Stack>
  )
}
