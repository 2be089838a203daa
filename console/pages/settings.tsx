import { useCanRun } from "../api/operations.ts"
import { isAdmin, useMe } from "../api/session.ts"
import { PageLayout } from "../parts/page-layout.tsx"
import { Tabs } from "../parts/tabs.tsx"
import { AffiliateTab } from "../settings/affiliate-tab.tsx"
import { AppsTab } from "../settings/apps-tab.tsx"
import { ApproveTab } from "../settings/approve-tab.tsx"
import { CompanyTab } from "../settings/company-tab.tsx"
import { DataTab } from "../settings/data-tab.tsx"
import { YouTab } from "../settings/you-tab.tsx"

/** Settings of the company, its apps, data and the reader. */
export default function SettingsPage() {
  const me = useMe()
  const seesApps = useCanRun("app-list")
  const approves = useCanRun("connect-approve")
  const ownsData = useCanRun("company-delete")
  const seesBilling = isAdmin(me) || me.permissions.includes("See billing")
  return (
    <PageLayout title="Settings">
      <Tabs
        label="Settings"
        tabs={[
          { name: "company", title: "Company", content: () => <CompanyTab /> },
          { name: "apps", title: "Apps", isShown: seesApps, content: () => <AppsTab /> },
          {
            name: "approve",
            title: "Approve an app",
            isShown: approves,
            content: () => <ApproveTab />,
          },
          {
            name: "affiliate",
            title: "Affiliate",
            isShown: seesBilling,
            content: () => <AffiliateTab />,
          },
          {
            name: "data",
            title: "Export and delete",
            isShown: ownsData,
            content: () => <DataTab />,
          },
          { name: "you", title: "You", content: () => <YouTab /> },
        ]}
      />
    </PageLayout>
  )
}
