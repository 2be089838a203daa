import { hasPermission, useMe } from "../api/session.ts"
import { NoPermission } from "../parts/no-permission.tsx"
import { PageLayout } from "../parts/page-layout.tsx"
import { Tabs } from "../parts/tabs.tsx"
import { CallSection } from "./phone/calls.tsx"
import { Numbers } from "./phone/numbers.tsx"
import { OptIns, OptOuts } from "./phone/consents.tsx"
import { RegistrationSection } from "./phone/registration.tsx"
import { Texts } from "./phone/texts.tsx"

/** Numbers, texts, calls, registration and consents. */
export default function PhonePage() {
  if (!hasPermission(useMe(), "Use phone")) {
    return <NoPermission title="Phone" what="texts and calls" permissions={["Use phone"]} />
  }
  return (
    <PageLayout title="Phone" description="Your numbers, texts and calls.">
      <Tabs
        label="Phone"
        tabs={[
          { name: "numbers", title: "Numbers", content: () => <Numbers /> },
          { name: "texts", title: "Texts", content: () => <Texts /> },
          { name: "calls", title: "Calls", content: () => <CallSection /> },
          { name: "registration", title: "Registration", content: () => <RegistrationSection /> },
          { name: "opt-outs", title: "Opt-outs", content: () => <OptOuts /> },
          { name: "opt-ins", title: "Opt-ins", content: () => <OptIns /> },
        ]}
      />
    </PageLayout>
  )
}
