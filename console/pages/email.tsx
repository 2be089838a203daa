import { holds, useMe } from "../api/session.ts"
import { NotYours } from "../parts/not-yours.tsx"
import { Page } from "../parts/page.tsx"
import { Tabs } from "../parts/tabs.tsx"
import { Mails } from "./email/mails.tsx"
import { Senders } from "./email/senders.tsx"
import { Suppressions } from "./email/suppressions.tsx"

/** What was sent by mail, whom not to write to, and what mail is sent from. */
export default function Email() {
  const me = useMe()
  const isSender = holds(me, "Send email")
  const hasDomains = holds(me, "Manage domains")
  if (!isSender && !hasDomains) {
    return <NotYours title="Email" what="mails" permissions={["Send email", "Manage domains"]} />
  }
  return (
    <Page title="Email" says="Mails that your company sent, and what became of each.">
      <Tabs
        label="Email"
        tabs={[
          { name: "mails", title: "Mails", isShown: isSender, content: () => <Mails /> },
          {
            name: "suppressed",
            title: "Not written to",
            isShown: isSender,
            content: () => <Suppressions />,
          },
          {
            name: "senders",
            title: "Sending domains",
            isShown: hasDomains,
            content: () => <Senders />,
          },
        ]}
      />
    </Page>
  )
}
