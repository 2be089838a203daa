import { SimpleGrid, Stack, Text } from "@mantine/core"
import { useQuery } from "@tanstack/react-query"
import type { Limit, LimitList } from "../api/answers.ts"
import { useNames } from "../api/names.ts"
import { useAnswer, useMay } from "../api/operations.ts"
import { answerOf, useApi } from "../api/company.ts"
import { useMe } from "../api/session.ts"
import { Action } from "../parts/action.tsx"
import { CopyAs, curlOf } from "../parts/copy-as.tsx"
import type { Column } from "../parts/data-table.tsx"
import { DataTable } from "../parts/data-table.tsx"
import { Empty } from "../parts/empty.tsx"
import { Bar, LimitBar, limitWords } from "../parts/limit-bar.tsx"
import type { Place } from "../parts/link.tsx"
import { Loaded } from "../parts/loaded.tsx"
import { Money, dollarsText } from "../parts/money.tsx"
import { paceText } from "../parts/pace.ts"
import { useNow } from "../parts/now.ts"
import { NarrowLine } from "../parts/narrow-line.tsx"
import { Page } from "../parts/page.tsx"
import { SetLimit } from "../parts/set-limit.tsx"
import { Until } from "../parts/time.tsx"

/** All limits; those of the reader's own spending, where they may not see the company's. */
export default function Limits() {
  return useMay("limit-list") ? <AllLimits /> : <OwnLimits />
}

/** The limits that the reader's own spending is held against, by the API. */
function OwnLimits() {
  const { companyId } = useMe()
  const { holder } = useNames()
  const now = useNow()
  const api = useApi()
  const own = useQuery({
    queryKey: [companyId, "limits"],
    queryFn: () => answerOf(api.GET("/api/v1/limits")),
  })
  return (
    <Page title="Limits" says="What you spend is held against these.">
      <Loaded of={own}>
        {({ limits }) =>
          limits.length === 0 ? (
            <Empty title="No limits" says="What you spend ends where the funds do." />
          ) : (
            <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="xl" verticalSpacing="lg">
              {limits.map((limit) => (
                <LimitBar
                  key={`${limit.holder} ${limit.class}`}
                  limit={limit}
                  whose={holder(limit)}
                  forecast={paceText(limit, now)}
                />
              ))}
            </SimpleGrid>
          )
        }
      </Loaded>
    </Page>
  )
}

function AllLimits() {
  const list = useAnswer<LimitList>("limit-list")
  return (
    <Page
      title="Limits"
      says="A charge is made only where it fits the funds and every limit that counts it."
      actions={
        <>
          <CopyAs what="curl" command={curlOf("/api/v1/limits")} />
          <SetLimit limits={list.data?.limits ?? []} />
        </>
      }
    >
      <Loaded of={list}>{({ limits }) => <List limits={limits} />}</Loaded>
    </Page>
  )
}

function List({ limits }: LimitList) {
  const { holder } = useNames()
  const now = useNow()
  const columns: readonly Column<Limit>[] = [
    {
      title: "Whose",
      cell: (limit) => (
        <>
          {holder(limit)}
          <NarrowLine>{limitWords(limit)}</NarrowLine>
        </>
      ),
      sortBy: (limit) => holder(limit),
    },
    {
      ...{ title: "Of what", isWide: true },
      cell: (limit) => (
        <>
          {limitWords(limit)}
          {limit.leaveKeysOut ? ", keys left out" : ""}
        </>
      ),
      sortBy: limitWords,
    },
    {
      ...{ title: "How it stands", isWide: true },
      cell: (limit) => (
        <Stack gap={4} miw={150}>
          <Bar label={`${holder(limit)}: ${limitWords(limit)}`} {...limit} />
          <Text size="xs" c="dimmed">
            {paceText(limit, now) ?? "lasts at this pace"}
          </Text>
        </Stack>
      ),
      sortBy: ({ usedMicros, amountMicros }) => usedMicros / Math.max(1, amountMicros),
    },
    {
      ...{ title: "Used", isNumber: true, isWide: true },
      cell: ({ usedMicros }) => <Money micros={usedMicros} decimals={2} />,
      sortBy: ({ usedMicros }) => usedMicros,
    },
    {
      ...{ title: "Left", isNumber: true },
      cell: ({ remainingMicros }) => <Money micros={remainingMicros} decimals={2} />,
      sortBy: ({ remainingMicros }) => remainingMicros,
    },
    {
      ...{ title: "Limit", isNumber: true, isWide: true },
      cell: ({ amountMicros }) => <Money micros={amountMicros} decimals={2} />,
      sortBy: ({ amountMicros }) => amountMicros,
    },
    { title: "Resets in", isWide: true, cell: ({ resetsAt }) => <Until at={resetsAt} /> },
    { title: "Change", isNumber: true, cell: (limit) => <Row limit={limit} limits={limits} /> },
  ]
  return (
    <DataTable
      {...{ label: "Limits", columns, rows: limits }}
      rowKey={({ holderId, class: counted }) => `${holderId} ${counted}`}
      place={spendingOf}
      empty={
        <Empty
          title="No limits yet"
          says="A limit stops spending of the company, of a person or of a key in a window of time."
          command="company-ledger limit set --company NAME --class general --period month --dollars 200"
        />
      }
    />
  )
}

/** Where the spending is that a limit counts. */
function spendingOf({ holder, holderId }: Limit): Place {
  if (holder === "company" || holderId === null) return { to: "spending" }
  return { to: "spending", search: { [holder]: holderId } }
}

function nameOf({ holder, holderId, class: counted }: Limit) {
  if (holder === "key") return { key: holderId ?? undefined }
  const person = holder === "person" ? { person: holderId ?? undefined } : {}
  return { ...person, class: counted }
}

function Row({ limit, limits }: { readonly limit: Limit; readonly limits: readonly Limit[] }) {
  const { holder } = useNames()
  return (
    <>
      <SetLimit limits={limits} limit={limit} />
      <Action
        operation="limit-remove"
        input={nameOf(limit)}
        label="Remove"
        variant="subtle"
        isDangerous
        says={`The limit of ${dollarsText(limit.amountMicros)} for ${holder(limit)} (${limitWords(limit)}) stops nothing any more.`}
        done="The limit was removed."
      />
    </>
  )
}
