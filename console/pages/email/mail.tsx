import { useParams } from "@tanstack/react-router"
import type { MailCopy, MailList } from "../../api/work-answers.ts"
import { useAnswer } from "../../api/operations.ts"
import type { Column } from "../../parts/data-table.tsx"
import { DataTable } from "../../parts/data-table.tsx"
import { Empty } from "../../parts/empty.tsx"
import { Facts } from "../../parts/facts.tsx"
import { Id } from "../../parts/id.tsx"
import { TextLink } from "../../parts/link.tsx"
import { Loaded } from "../../parts/loaded.tsx"
import { Page, Section } from "../../parts/page.tsx"
import { Time } from "../../parts/time.tsx"
import { MailStatus } from "./mail-status.tsx"

/** The list knows no single mail: it is found among as many as are listed at once. */
const MOST_LOOKED_AT = 1_000

/** One mail: who it went to, and what became of it for each. */
export default function MailPage() {
  const { mailId } = useParams({ strict: false })
  const found = useAnswer<MailList>("email-list", { limit: MOST_LOOKED_AT })
  return (
    <Loaded of={found}>
      {({ emails }) => {
        const copies = emails.filter((one) => one.mailId === mailId)
        const [first] = copies
        return first === undefined ? (
          <Empty title="There is no such mail" says="It is not among the newest thousand.">
            <TextLink to="email">All mails</TextLink>
          </Empty>
        ) : (
          <Shown first={first} copies={copies} />
        )
      }}
    </Loaded>
  )
}

function Shown({
  first,
  copies,
}: {
  readonly first: MailCopy
  readonly copies: readonly MailCopy[]
}) {
  const { mailId, from, sentAt, chargeId } = first
  const columns: readonly Column<MailCopy>[] = [
    { title: "To", cell: ({ to }) => to ?? "Erased", sortBy: ({ to }) => to ?? "" },
    {
      title: "Status",
      cell: ({ status }) => <MailStatus status={status} />,
      sortBy: (one) => one.status,
    },
    { title: "What the other side said", isWide: true, cell: ({ code }) => code ?? "–" },
    { title: "Since", isWide: true, cell: ({ changedAt }) => <Time at={changedAt} /> },
  ]
  return (
    <Page title={`Mail from ${from ?? "an erased address"}`} says={<Id id={mailId} />}>
      <Facts
        of={[
          ["From", from],
          ["Sent", <Time key="sent" at={sentAt} isWhole />],
          ["Recipients", copies.length],
          [
            "Charge",
            chargeId === null ? null : (
              <TextLink key="charge" to={`spending/${chargeId}`}>
                What it cost
              </TextLink>
            ),
          ],
        ]}
      />
      <Section title="Recipients" says="What a mail says is not kept once it was handed over.">
        <DataTable
          {...{ label: "Recipients", columns, rows: copies }}
          rowKey={({ n }) => String(n)}
          empty={null}
        />
      </Section>
    </Page>
  )
}
