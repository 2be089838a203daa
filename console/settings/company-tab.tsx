import { TextInput } from "@mantine/core"
import { useQuery } from "@tanstack/react-query"
import { planText, paysText } from "../api/bills.ts"
import { answerOf, useApi } from "../api/company.ts"
import { useMe } from "../api/session.ts"
import { Facts } from "../parts/facts.tsx"
import { FormDialog } from "../parts/form-dialog.tsx"
import { Id } from "../parts/id.tsx"
import { TextLink } from "../parts/link.tsx"
import { Loaded } from "../parts/loaded.tsx"
import { Section } from "../parts/page.tsx"

/** The company's name, id, plan, and from where its apps are updated. */
export function CompanyTab() {
  const { companyId } = useMe()
  const api = useApi()
  const account = useQuery({
    queryKey: [companyId, "account"],
    queryFn: () => answerOf(api.GET("/api/v1/account")),
  })
  return (
    <Loaded of={account}>
      {({ company, plan, billing, channel, latest }) => (
        <>
          <Facts
            of={[
              ["Name", company.name],
              ["Id", <Id key="id" id={company.id} />],
              [
                "Plan",
                <TextLink key="plan" to="billing">
                  {planText(plan)}
                </TextLink>,
              ],
              ["Paid", paysText(billing)],
            ]}
          />
          <Section
            title="Release channel"
            says="Where the company's apps look for updates."
            actions={<ChangeChannel channel={channel} />}
          >
            <Facts
              of={[
                ["Channel", channel],
                ["Newest release in it", latest ?? "None was published in it yet"],
              ]}
            />
          </Section>
        </>
      )}
    </Loaded>
  )
}

function ChangeChannel({ channel }: { readonly channel: string }) {
  return (
    <FormDialog<{ channel: string }, unknown>
      operation="company-change"
      label="Change the channel"
      says="Apps look into the new channel from their next check on. None goes back to an older version by it."
      initial={{ channel }}
      check={{
        channel: (name) =>
          /^[a-z][a-z0-9-]{0,29}$/.test(name.trim())
            ? null
            : "1 to 30 small letters, digits and dashes, such as stable",
      }}
      inputOf={(values) => ({ channel: values.channel.trim() })}
      fields={(form) => (
        <TextInput
          label="Channel"
          description="stable, unless whoever publishes the releases named another one"
          data-autofocus
          {...form.getInputProps("channel")}
        />
      )}
      does="Change"
      done="The channel was changed."
    />
  )
}
