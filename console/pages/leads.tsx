import { holds, useMe } from "../api/session.ts"
import { NotYours } from "../parts/not-yours.tsx"
import { Page } from "../parts/page.tsx"
import { Tabs } from "../parts/tabs.tsx"
import { Addresses } from "./leads/addresses.tsx"
import { Forms } from "./leads/forms.tsx"
import { LeadList } from "./leads/lead-list.tsx"

/** Who asked to be answered, the forms by which they did, and looking up addresses. */
export default function Leads() {
  const me = useMe()
  const isReader = holds(me, "Read leads")
  const looksUp = holds(me, "Look up addresses")
  if (!isReader && !looksUp) {
    return <NotYours title="Leads" what="leads" permissions={["Read leads", "Look up addresses"]} />
  }
  return (
    <Page title="Leads" says="People who asked to be answered, on a form of yours.">
      <Tabs
        label="Leads"
        tabs={[
          { name: "leads", title: "Leads", isShown: isReader, content: () => <LeadList /> },
          { name: "forms", title: "Forms", isShown: isReader, content: () => <Forms /> },
          {
            name: "addresses",
            title: "Address look-up",
            isShown: looksUp,
            content: () => <Addresses />,
          },
        ]}
      />
    </Page>
  )
}
