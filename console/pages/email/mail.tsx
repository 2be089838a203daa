import { useParams } from "@tanstack/react-router"
import type { MailCopy, MailList } from "../../api/outreach-answers.ts"
import { useOperationQuery } from "../../api/operations.ts"
import type { TableColumn } from "../../parts/data-table.tsx"
import { DataTable } from "../../parts/data-table.tsx"
import { EmptyState } from "../../parts/empty-state.tsx"
import { DetailList } from "../../parts/detail-list.tsx"
import { Id } from "../../parts/id.tsx"
import { TextLink } from "../../parts/link.tsx"
import { QueryView } from "../../parts/query-view.tsx"
import { PageLayout, Section } from "../../parts/page-layout.tsx"
import { Time } from "../../parts/time.tsx"
import { MailStatusBadge } from "./mail-status.tsx"

/** No operation reads a single mail, so it is searched in the list. */
const MAX_SEARCHED = 1_000

/** A mail with the status of each recipient. */
export default function MailPage() {
  const { mailId } = useParams({ strict: false })
  const found = useOperationQuery<MailList>("email-list", { limit: MAX_SEARCHED })
  return (
    <QueryView query={found}>
      {({ emails }) => {
        const copies = emails.filter((one) => one.mailId === mailId)
        const [first] = copies
        return first === undefined ? (
          <EmptyState title="No such mail" description="It is not among the newest 1,000 mails.">
            <TextLink to="email">All mails</TextLink>
          </EmptyState>
        ) : (
          <MailContent first={first} copies={copies} />
        )
      }}
    </QueryView>
  )
}

function MailContent({
  first,
  copies,
}: {
  readonly first: MailCopy
  readonly copies: readonly MailCopy[]
}) {
  const { mailId, from, sentAt, chargeId } = first
  const columns: readonly TableColumn<MailCopy>[] = [
    { title: "To", cell: ({ to }) => to ?? "Erased", sortBy: ({ to }) => to ?? "" },
    {
      title: "Status",
      cell: ({ status }) => <MailStatusBadge status={status} />,
      sortBy: (one) => one.status,
    },
    { title: "Server's answer", isHiddenOnNarrow: true, cell: ({ code }) => code ?? "–" },
    { title: "Since", isHiddenOnNarrow: true, cell: ({ changedAt }) => <Time at={changedAt} /> },
  ]
  return (
    <PageLayout title={`Mail from ${from ?? "an erased address"}`} description={<Id id={mailId} />}>
      <DetailList
        items={[
          ["From", from],
          ["Sent", <Time key="sent" at={sentAt} isWhole />],
          ["Recipients", copies.length],
          [
            "Charge",
            chargeId === null ? null : (
              <TextLink key="charge" to={`spending/${chargeId}`}>
                Show the charge
              </TextLink>
            ),
          ],
        ]}
      />
      <Section title="Recipients" description="The content of a mail is deleted after delivery.">
        <DataTable
          label="Recipients"
          columns={columns}
          rows={copies}
          rowKey={({ recipientIndex }) => String(recipientIndex)}
          empty={null}
        />
      </Section>
    </PageLayout>
  )
}
