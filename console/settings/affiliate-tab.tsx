import { Group, SimpleGrid, Text } from "@mantine/core"
import { useQuery } from "@tanstack/react-query"
import type { Schema } from "../api/api-client.ts"
import { responseData, useApi } from "../api/api-client.ts"
import { useMe } from "../api/session.ts"
import { ActionButton } from "../parts/action-button.tsx"
import { CopyCommandButton, curlOf } from "../parts/copy-command.tsx"
import { DataTable } from "../parts/data-table.tsx"
import { countText } from "../parts/count.ts"
import { EmptyState } from "../parts/empty-state.tsx"
import { DetailList } from "../parts/detail-list.tsx"
import { CopyIconButton } from "../parts/id.tsx"
import { QueryView } from "../parts/query-view.tsx"
import { Money } from "../parts/money.tsx"
import { KeyFigure, Section } from "../parts/page-layout.tsx"
import { useShellCommand } from "../parts/shell-command.ts"
import { Time } from "../parts/time.tsx"

const MICROS = 1_000_000

/** An amount of dollars as it is shown. */
const Dollars = ({ of }: { readonly of: number }) => (
  <Money micros={Math.round(of * MICROS)} decimals={2} />
)

/** What the company earns by those it brings. */
export function AffiliateTab() {
  const { companyId } = useMe()
  const api = useApi()
  const found = useQuery({
    queryKey: [companyId, "affiliate"],
    queryFn: () => responseData(api.GET("/api/v1/affiliate")),
  })
  return (
    <QueryView query={found}>
      {(affiliate) =>
        affiliate.joined ? (
          <AffiliateSummary affiliate={affiliate} />
        ) : (
          <Join minimum={affiliate.minimum} />
        )
      }
    </QueryView>
  )
}

function Join({ minimum }: { readonly minimum: number }) {
  const commandFor = useShellCommand()
  return (
    <EmptyState
      title="The company does not take part"
      description={
        <>
          Whoever signs up by the company's link counts as brought by it, and it earns by them. Paid
          out is from <Dollars of={minimum} /> on.
        </>
      }
      command={commandFor("affiliate join")}
    >
      <ActionButton
        operation="affiliate-join"
        input={{}}
        label="Join"
        variant="filled"
        description="The company gets a link of its own. Nothing is paid for taking part."
        successMessage="The company takes part."
      />
    </EmptyState>
  )
}

function AffiliateSummary({ affiliate }: { readonly affiliate: Schema<"AffiliateJoined"> }) {
  const { link, clicks, earnings, payouts, referrals } = affiliate
  return (
    <>
      <Section
        title="The company's link"
        description="Whoever signs up by it was brought by this company."
        actions={<CopyCommandButton what="curl" command={curlOf("/api/v1/affiliate")} />}
      >
        <Group gap="xs">
          <Text size="sm" ff="monospace" style={{ overflowWrap: "anywhere" }}>
            {link}
          </Text>
          <CopyIconButton text={link} what="the link" />
        </Group>
      </Section>
      <SimpleGrid cols={{ base: 1, xs: 3 }} spacing="xl">
        <KeyFigure label="On hold" description="May still be taken back">
          <Dollars of={earnings.onHold} />
        </KeyFigure>
        <KeyFigure label="Ready" description="Paid out next">
          <Dollars of={earnings.readyToSend} />
        </KeyFigure>
        <KeyFigure label="Sent" description="Handed to the payment provider">
          <Dollars of={earnings.sentToProvider} />
        </KeyFigure>
      </SimpleGrid>
      <DetailList
        items={[
          ["The link was followed", countText(clicks, "time")],
          ["Account to pay to", payouts.setUp ? (payouts.connectType ?? "Set up") : "Not set up"],
          ["Next payout", <Time key="next" at={payouts.next} />],
          ["The least that is paid out", <Dollars key="least" of={payouts.minimum} />],
        ]}
      />
      <Section title="Who was brought">
        <DataTable
          label="Companies that were brought"
          rows={referrals}
          rowKey={({ company, signedUp }) => `${company} ${signedUp}`}
          columns={[
            { title: "Company", cell: ({ company }) => company },
            {
              title: "State",
              cell: ({ state, underReview }) => (underReview ? `${state}, under review` : state),
            },
            {
              title: "Signed up",
              isHiddenOnNarrow: true,
              cell: ({ signedUp }) => <Time at={signedUp} />,
            },
            {
              title: "Earned",
              isNumber: true,
              cell: ({ earned }) => <Dollars of={earned} />,
            },
          ]}
          empty={
            <EmptyState
              title="Nobody yet"
              description="Companies that signed up by the link stand here, with what each has earned this one."
            />
          }
        />
      </Section>
    </>
  )
}
