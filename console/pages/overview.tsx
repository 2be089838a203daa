import { Alert, SimpleGrid, Skeleton, Stack, Text } from "@mantine/core"
import { Suspense, lazy } from "react"
import type { ChargeDays, CompanyShown, LimitList, RefusalList } from "../api/answers.ts"
import { useNames } from "../api/names.ts"
import { useAnswer, useMay } from "../api/operations.ts"
import { AddFunds } from "../parts/add-funds.tsx"
import { Empty } from "../parts/empty.tsx"
import { LimitBar } from "../parts/limit-bar.tsx"
import { TextLink } from "../parts/link.tsx"
import { Loaded } from "../parts/loaded.tsx"
import { Money } from "../parts/money.tsx"
import { paceText } from "../parts/pace.ts"
import { useNow } from "../parts/now.ts"
import { Figure, Page, Section } from "../parts/page.tsx"

const SpendingChart = lazy(() => import("../charts/spending-chart.tsx"))

const DAY_MS = 86_400_000

/** How the company's money stands, and what needs somebody. */
export default function Overview() {
  const seesBilling = useMay("company-show")
  return (
    <Page title="Overview" actions={<AddFunds />}>
      {seesBilling ? <Attention /> : null}
      <Figures />
      <SpentByDay />
      <LimitsNow />
    </Page>
  )
}

const monthOf = (now: number): string => new Date(now).toISOString().slice(0, 7)

function useMonth() {
  return useAnswer<ChargeDays>("charge-days", { month: monthOf(useNow()) })
}

function Figures() {
  const company = useAnswer<CompanyShown>("company-show", {}, useMay("company-show"))
  const refusals = useAnswer<RefusalList>("refusals-list", { limit: 100 }, useMay("refusals-list"))
  const month = useMonth()
  const since = useNow() - DAY_MS
  const ofDay = (refusals.data?.refusals ?? []).filter((one) => Date.parse(one.lastAt) > since)
  return (
    <SimpleGrid cols={{ base: 1, xs: 3 }} spacing="xl">
      <Figure label="Balance" says={<Paying company={company.data} />}>
        <Money micros={company.data?.balanceMicros ?? null} decimals={2} />
      </Figure>
      <Figure label="Spent this month" says="In UTC days, less what was given back">
        <Money micros={month.data?.netMicros ?? null} decimals={2} />
      </Figure>
      <Figure
        label="Refused in 24 hours"
        says={<TextLink to="refusals">See what stood against them</TextLink>}
      >
        {refusals.data === undefined ? "–" : ofDay.reduce((sum, { times }) => sum + times, 0)}
      </Figure>
    </SimpleGrid>
  )
}

function Paying({ company }: { readonly company: CompanyShown | undefined }) {
  if (company === undefined) return null
  const { pays, creditLineMicros } = company
  if (pays === "card") return <>Paid by card at the end of the month</>
  return (
    <>
      Prepaid
      {creditLineMicros === 0 ? null : (
        <>
          , and a credit line of <Money micros={creditLineMicros} />
        </>
      )}
    </>
  )
}

/** What somebody must do something about. */
function Attention() {
  const { data: company } = useAnswer<CompanyShown>("company-show")
  if (company === undefined) return null
  const { locked, card, balanceMicros, noticeBelowMicros, creditLineMicros } = company
  const needs = [
    locked
      ? "The account is locked: a payment failed. Nothing can be spent until it is settled."
      : null,
    card?.failing === true ? "Payments by the card fail: put another one on the account." : null,
    balanceMicros + creditLineMicros <= 0 ? "No funds are left: every charge is refused." : null,
    noticeBelowMicros !== null && balanceMicros < noticeBelowMicros
      ? "The balance is below the sum that you wanted to hear of."
      : null,
  ].filter((one) => one !== null)
  if (needs.length === 0) return null
  return (
    <Stack gap="xs">
      {needs.map((need) => (
        <Alert key={need} color="orange" variant="light">
          {need}
        </Alert>
      ))}
    </Stack>
  )
}

function SpentByDay() {
  const month = useMonth()
  return (
    <Section title="Spent by day" says="This month, by what was bought.">
      <Loaded of={month} lines={8}>
        {({ days }) =>
          days.length === 0 ? (
            <Empty
              title="Nothing was spent this month"
              says="What calls of the API and your people spend is drawn here, day by day."
            />
          ) : (
            <Suspense fallback={<Skeleton height={300} animate={false} />}>
              <SpendingChart spent={days} />
            </Suspense>
          )
        }
      </Loaded>
    </Section>
  )
}

function LimitsNow() {
  const now = useNow()
  const seesLimits = useMay("limit-list", true)
  const list = useAnswer<LimitList>("limit-list", {}, seesLimits)
  const { holder } = useNames()
  if (!seesLimits) return null
  return (
    <Section title="Limits" says="The fullest first.">
      <Loaded of={list}>
        {({ limits }) =>
          limits.length === 0 ? (
            <Text size="sm">
              There are none: spending ends where the funds do.{" "}
              <TextLink to="limits">Set one</TextLink>
            </Text>
          ) : (
            <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="xl" verticalSpacing="lg">
              {fullestFirst(limits).map((limit) => (
                <LimitBar
                  key={`${limit.holderId} ${limit.class}`}
                  limit={limit}
                  whose={holder(limit)}
                  forecast={paceText(limit, now)}
                />
              ))}
            </SimpleGrid>
          )
        }
      </Loaded>
    </Section>
  )
}

function fullestFirst(limits: LimitList["limits"]): LimitList["limits"] {
  const share = ({ usedMicros, amountMicros }: LimitList["limits"][number]): number =>
    usedMicros / Math.max(1, amountMicros)
  return limits.toSorted((a, b) => share(b) - share(a)).slice(0, 6)
}
