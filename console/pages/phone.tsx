import { Page } from "../parts/page.tsx"
import { Tabs } from "../parts/tabs.tsx"
import { Calls } from "./phone/calls.tsx"
import { Numbers } from "./phone/numbers.tsx"
import { OptIns, OptOuts } from "./phone/consents.tsx"
import { Registration } from "./phone/registration.tsx"
import { Texts } from "./phone/texts.tsx"

/** Numbers, texts, calls, and what carriers want to know before a company texts. */
export default function Phone() {
  return (
    <Page title="Phone" says="Your numbers, and what people texted and called.">
      <Tabs
        label="Phone"
        tabs={[
          { name: "numbers", title: "Numbers", content: () => <Numbers /> },
          { name: "texts", title: "Texts", content: () => <Texts /> },
          { name: "calls", title: "Calls", content: () => <Calls /> },
          { name: "registration", title: "Registration", content: () => <Registration /> },
          { name: "opt-outs", title: "Opt-outs", content: () => <OptOuts /> },
          { name: "opt-ins", title: "Opt-ins", content: () => <OptIns /> },
        ]}
      />
    </Page>
  )
}
