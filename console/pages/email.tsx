import { hasPermission, useMe } from "../api/session.ts"
import { NoPermission } from "../parts/no-permission.tsx"
import { PageLayout } from "../parts/page-layout.tsx"
import { Tabs } from "../parts/tabs.tsx"
import { Mails } from "./email/mails.tsx"
import { SendingDomains } from "./email/senders.tsx"
import { SuppressionSection } from "./email/suppressions.tsx"

/** Sent mails, suppressed addresses and sending domains. */
export default function EmailPage() {
  const me = useMe()
  const isSender = hasPermission(me, "Send email")
  const hasDomains = hasPermission(me, "Manage domains")
  if (!isSender && !hasDomains) {
    return (
      <NoPermission title="Email" what="mails" permissions={["Send email", "Manage domains"]} />
    )
  }
  return (
    <PageLayout title="Email" description="Mails that your company sent, with their status.">
      <Tabs
        label="Email"
        tabs={[
          { name: "mails", title: "Mails", isShown: isSender, content: () => <Mails /> },
          {
            name: "suppressed",
            title: "Suppressed",
            isShown: isSender,
            content: () => <SuppressionSection />,
          },
          {
            name: "senders",
            title: "Sending domains",
            isShown: hasDomains,
            content: () => <SendingDomains />,
          },
        ]}
      />
    </PageLayout>
  )
}
