import { hasPermission, useMe } from "../api/session.ts"
import { NoPermission } from "../parts/no-permission.tsx"
import { PageLayout } from "../parts/page-layout.tsx"
import { Tabs } from "../parts/tabs.tsx"
import { AddressLookup } from "./leads/addresses.tsx"
import { LeadForms } from "./leads/forms.tsx"
import { LeadList } from "./leads/lead-list.tsx"

/** Leads, forms and address look-up. */
export default function LeadsPage() {
  const me = useMe()
  const isReader = hasPermission(me, "Read leads")
  const looksUp = hasPermission(me, "Look up addresses")
  if (!isReader && !looksUp) {
    return (
      <NoPermission title="Leads" what="leads" permissions={["Read leads", "Look up addresses"]} />
    )
  }
  return (
    <PageLayout title="Leads" description="People who contacted you with one of your forms.">
      <Tabs
        label="Leads"
        tabs={[
          { name: "leads", title: "Leads", isShown: isReader, content: () => <LeadList /> },
          { name: "forms", title: "Forms", isShown: isReader, content: () => <LeadForms /> },
          {
            name: "addresses",
            title: "Address look-up",
            isShown: looksUp,
            content: () => <AddressLookup />,
          },
        ]}
      />
    </PageLayout>
  )
}
