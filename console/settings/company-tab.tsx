import { TextInput } from "@mantine/core"
import { useQuery } from "@tanstack/react-query"
import { planText, paysText } from "../api/bills.ts"
import { responseData, useApi } from "../api/api-client.ts"
import { useMe } from "../api/session.ts"
import { DetailList } from "../parts/detail-list.tsx"
import { OperationFormButton } from "../parts/operation-form-button.tsx"
import { Id } from "../parts/id.tsx"
import { TextLink } from "../parts/link.tsx"
import { QueryView } from "../parts/query-view.tsx"
import { Section } from "../parts/page-layout.tsx"

/** The company's name, id, plan and release channel. */
export function CompanyTab() {
  const { companyId } = useMe()
  const api = useApi()
  const account = useQuery({
    queryKey: [companyId, "account"],
    queryFn: () => responseData(api.GET("/api/v1/account")),
  })
  return (
    <QueryView query={account}>
      {({ company, plan, billing, channel, latest }) => (
        <>
          <DetailList
            items={[
              ["Name", company.name],
              ["Id", <Id key="id" id={company.id} />],
              [
                "Plan",
                <TextLink key="plan" to="billing">
                  {planText(plan)}
                </TextLink>,
              ],
              ["Pays", paysText(billing)],
            ]}
          />
          <Section
            title="Release channel"
            description="The channel from which the company's apps get updates."
            actions={<ChangeChannel channel={channel} />}
          >
            <DetailList
              items={[
                ["Channel", channel],
                ["Newest release in it", latest ?? "No releases yet"],
              ]}
            />
          </Section>
        </>
      )}
    </QueryView>
  )
}

function ChangeChannel({ channel }: { readonly channel: string }) {
  return (
    <OperationFormButton<{ channel: string }, unknown>
      operation="company-change"
      label="Change the channel"
      description="Apps use the new channel from their next check. No app returns to an older version."
      initialValues={{ channel }}
      validators={{
        channel: (name) =>
          /^[a-z][a-z0-9-]{0,29}$/.test(name.trim())
            ? null
            : "Must be 1 to 30 lowercase letters, digits and dashes, such as stable",
      }}
      inputOf={(values) => ({ channel: values.channel.trim() })}
      fields={(form) => (
        <TextInput
          label="Channel"
          description="Use stable, unless the publisher of the releases names another channel"
          data-autofocus
          {...form.getInputProps("channel")}
        />
      )}
      submitLabel="Change"
      successMessage="The channel was changed."
    />
  )
}
