import { SimpleGrid, Text } from "@mantine/core"
import { Suspense, lazy } from "react"
import type { ChargeDays, CompanyDetails, LimitList, RefusalList } from "../api/answers.ts"
import { useNames } from "../api/names.ts"
import { useOperationQuery, useCanRun } from "../api/operations.ts"
import { AddFundsButton } from "../parts/add-funds.tsx"
import { AttentionAlerts } from "../parts/attention.tsx"
import { EmptyState } from "../parts/empty-state.tsx"
import { LimitBar } from "../parts/limit-bar.tsx"
import { TextLink } from "../parts/link.tsx"
import { QueryView, Loading } from "../parts/query-view.tsx"
import { Money } from "../parts/money.tsx"
import { limitForecast } from "../parts/limit-forecast.ts"
import { useNow } from "../parts/use-now.ts"
import { KeyFigure, PageLayout, Section } from "../parts/page-layout.tsx"

const SpendingChart = lazy(() => import("../charts/spending-chart.tsx"))

const DAY_MS = 86_400_000

/** The company's money, and problems that need action. */
export default function OverviewPage() {
  return (
    <PageLayout title="Overview" actions={<AddFundsButton />}>
      <AttentionAlerts />
      <Figures />
      <SpentByDay />
      <CurrentLimits />
    </PageLayout>
  )
}

const monthOf = (now: number): string => new Date(now).toISOString().slice(0, 7)

function useMonth() {
  return useOperationQuery<ChargeDays>("charge-days", { month: monthOf(useNow()) })
}

function Figures() {
  const company = useOperationQuery<CompanyDetails>("company-show", {}, useCanRun("company-show"))
  const refusals = useOperationQuery<RefusalList>(
    "refusals-list",
    { limit: 100 },
    useCanRun("refusals-list"),
  )
  const month = useMonth()
  const seesAll = useCanRun("charge-days")
  const since = useNow() - DAY_MS
  const ofDay = (refusals.data?.refusals ?? []).filter((one) => Date.parse(one.lastAt) > since)
  return (
    <SimpleGrid cols={{ base: 1, xs: 3 }} spacing="xl">
      <KeyFigure label="Balance" description={<PaymentTerms company={company.data} />}>
        <Money micros={company.data?.balanceMicros ?? null} decimals={2} />
      </KeyFigure>
      <KeyFigure
        label={seesAll ? "Spent this month" : "You spent this month"}
        description="In UTC days, after refunds"
      >
        <Money micros={month.data?.netMicros ?? null} decimals={2} />
      </KeyFigure>
      <KeyFigure
        label="Refused in 24 hours"
        description={<TextLink to="refusals">View refused charges</TextLink>}
      >
        {refusals.data === undefined ? "–" : ofDay.reduce((sum, { times }) => sum + times, 0)}
      </KeyFigure>
    </SimpleGrid>
  )
}

function PaymentTerms({ company }: { readonly company: CompanyDetails | undefined }) {
  if (company === undefined) return null
  const { pays, creditLineMicros } = company
  if (pays === "card") return <>Paid by card at the end of the month</>
  return (
    <>
      Prepaid
      {creditLineMicros === 0 ? null : (
        <>
          , plus a credit line of <Money micros={creditLineMicros} />
        </>
      )}
    </>
  )
}

function SpentByDay() {
  const month = useMonth()
  const seesAll = useCanRun("charge-days")
  return (
    <Section
      title="Spent by day"
      description={seesAll ? "This month, by item." : "Your spending this month, by item."}
    >
      <QueryView query={month} lines={8}>
        {({ days }) =>
          days.length === 0 ? (
            <EmptyState
              title={seesAll ? "No spending this month" : "You spent nothing this month"}
              description="Spending of your people and API calls appears here by day."
            />
          ) : (
            <Suspense fallback={<Loading lines={11} />}>
              <SpendingChart spent={days} />
            </Suspense>
          )
        }
      </QueryView>
    </Section>
  )
}

function CurrentLimits() {
  const now = useNow()
  const seesLimits = useCanRun("limit-list", true)
  const list = useOperationQuery<LimitList>("limit-list", {}, seesLimits)
  const { holder } = useNames()
  if (!seesLimits) return null
  return (
    <Section title="Limits" description="The most used first.">
      <QueryView query={list}>
        {({ limits }) =>
          limits.length === 0 ? (
            <Text size="sm">
              No limits: only the funds limit spending. <TextLink to="limits">Set a limit</TextLink>
            </Text>
          ) : (
            <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="xl" verticalSpacing="lg">
              {fullestFirst(limits).map((limit) => (
                <LimitBar
                  key={`${limit.holderId} ${limit.class}`}
                  limit={limit}
                  whose={holder(limit)}
                  forecast={limitForecast(limit, now)}
                />
              ))}
            </SimpleGrid>
          )
        }
      </QueryView>
    </Section>
  )
}

function fullestFirst(limits: LimitList["limits"]): LimitList["limits"] {
  const share = ({ usedMicros, amountMicros }: LimitList["limits"][number]): number =>
    usedMicros / Math.max(1, amountMicros)
  return limits.toSorted((a, b) => share(b) - share(a)).slice(0, 6)
}
