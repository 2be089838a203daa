import { Group, SimpleGrid, Text } from "@mantine/core"
import { useQuery } from "@tanstack/react-query"
import type { Schema } from "../api/company.ts"
import { answerOf, useApi } from "../api/company.ts"
import { useMe } from "../api/session.ts"
import { Action } from "../parts/action.tsx"
import { CopyAs, curlOf } from "../parts/copy-as.tsx"
import { DataTable } from "../parts/data-table.tsx"
import { countText } from "../parts/count.ts"
import { Empty } from "../parts/empty.tsx"
import { Facts } from "../parts/facts.tsx"
import { CopyIt } from "../parts/id.tsx"
import { Loaded } from "../parts/loaded.tsx"
import { Money } from "../parts/money.tsx"
import { Figure, Section } from "../parts/page.tsx"
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
    queryFn: () => answerOf(api.GET("/api/v1/affiliate")),
  })
  return (
    <Loaded of={found}>
      {(affiliate) =>
        affiliate.joined ? <Joined affiliate={affiliate} /> : <Join minimum={affiliate.minimum} />
      }
    </Loaded>
  )
}

function Join({ minimum }: { readonly minimum: number }) {
  const commandFor = useShellCommand()
  return (
    <Empty
      title="The company does not take part"
      says={
        <>
          Whoever signs up by the company's link counts as brought by it, and it earns by them. Paid
          out is from <Dollars of={minimum} /> on.
        </>
      }
      command={commandFor("affiliate join")}
    >
      <Action
        operation="affiliate-join"
        input={{}}
        label="Join"
        variant="filled"
        says="The company gets a link of its own. Nothing is paid for taking part."
        done="The company takes part."
      />
    </Empty>
  )
}

function Joined({ affiliate }: { readonly affiliate: Schema<"AffiliateJoined"> }) {
  const { link, clicks, earnings, payouts, referrals } = affiliate
  return (
    <>
      <Section
        title="The company's link"
        says="Whoever signs up by it was brought by this company."
        actions={<CopyAs what="curl" command={curlOf("/api/v1/affiliate")} />}
      >
        <Group gap="xs">
          <Text size="sm" ff="monospace" style={{ overflowWrap: "anywhere" }}>
            {link}
          </Text>
          <CopyIt text={link} what="the link" />
        </Group>
      </Section>
      <SimpleGrid cols={{ base: 1, xs: 3 }} spacing="xl">
        <Figure label="On hold" says="May still be taken back">
          <Dollars of={earnings.onHold} />
        </Figure>
        <Figure label="Ready" says="Paid out next">
          <Dollars of={earnings.readyToSend} />
        </Figure>
        <Figure label="Sent" says="Handed to the payment provider">
          <Dollars of={earnings.sentToProvider} />
        </Figure>
      </SimpleGrid>
      <Facts
        of={[
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
            { title: "Signed up", isWide: true, cell: ({ signedUp }) => <Time at={signedUp} /> },
            {
              title: "Earned",
              isNumber: true,
              cell: ({ earned }) => <Dollars of={earned} />,
            },
          ]}
          empty={
            <Empty
              title="Nobody yet"
              says="Companies that signed up by the link stand here, with what each has earned this one."
            />
          }
        />
      </Section>
    </>
  )
}
