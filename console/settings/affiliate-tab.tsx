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

const Dollars = ({ of }: { readonly of: number }) => (
  <Money micros={Math.round(of * MICROS)} decimals={2} />
)

/** The company's affiliate earnings and referrals. */
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
      title="The company is not an affiliate"
      description={
        <>
          Companies that sign up with the company's link are its referrals, and it earns a share.
          Payouts start at <Dollars of={minimum} />.
        </>
      }
      command={commandFor("affiliate join")}
    >
      <ActionButton
        operation="affiliate-join"
        input={{}}
        label="Join"
        variant="filled"
        description="The company gets its own link. Joining is free."
        successMessage="The company joined."
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
        description="Companies that sign up with it are this company's referrals."
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
        <KeyFigure label="On hold" description="Can still be reversed">
          <Dollars of={earnings.onHold} />
        </KeyFigure>
        <KeyFigure label="Ready" description="In the next payout">
          <Dollars of={earnings.readyToSend} />
        </KeyFigure>
        <KeyFigure label="Sent" description="Sent to the payment provider">
          <Dollars of={earnings.sentToProvider} />
        </KeyFigure>
      </SimpleGrid>
      <DetailList
        items={[
          ["Clicks on the link", countText(clicks, "time")],
          ["Payout account", payouts.setUp ? (payouts.connectType ?? "Set up") : "Not set up"],
          ["Next payout", <Time key="next" at={payouts.next} />],
          ["Minimum payout", <Dollars key="least" of={payouts.minimum} />],
        ]}
      />
      <Section title="Referrals">
        <DataTable
          label="Referred companies"
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
              title="No referrals yet"
              description="Companies that sign up with the link appear here, with the earnings from each."
            />
          }
        />
      </Section>
    </>
  )
}
