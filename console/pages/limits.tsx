import { SimpleGrid, Stack, Text } from "@mantine/core"
import type { Limit, LimitList } from "../api/answers.ts"
import { useNames } from "../api/names.ts"
import { useAnswer, useMay } from "../api/operations.ts"
import { Action } from "../parts/action.tsx"
import { CopyAs, curlOf } from "../parts/copy-as.tsx"
import type { Column } from "../parts/data-table.tsx"
import { DataTable } from "../parts/data-table.tsx"
import { Empty } from "../parts/empty.tsx"
import { FilterBar } from "../parts/filter-bar.tsx"
import { useFilters } from "../parts/filters.ts"
import { Bar, LimitBar, limitDecimals, limitWords } from "../parts/limit-bar.tsx"
import type { Place } from "../parts/link.tsx"
import { Loaded } from "../parts/loaded.tsx"
import { Money, decimalsOf, dollarsText } from "../parts/money.tsx"
import { paceText } from "../parts/pace.ts"
import { useNow } from "../parts/now.ts"
import { NarrowLine } from "../parts/narrow-line.tsx"
import { Page } from "../parts/page.tsx"
import { SetLimit, inputOf, valuesOf } from "../parts/set-limit.tsx"
import { useShellCommand } from "../parts/shell-command.ts"
import { Until } from "../parts/time.tsx"

/** All limits; those of the reader's own spending, where they may not see the company's. */
export default function Limits() {
  return useMay("limit-list") ? <AllLimits /> : <OwnLimits />
}

/** The limits that the reader's own spending is held against. */
function OwnLimits() {
  const { holder } = useNames()
  const now = useNow()
  const own = useAnswer<LimitList>("limit-list")
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

/** At which sums a mail goes out. */
function Reminders({ of: { remindersMicros } }: { readonly of: Limit }) {
  if (remindersMicros.length === 0) return null
  return (
    <Text size="xs" c="dimmed">
      Reminds at{" "}
      {remindersMicros.map((micros) => dollarsText(micros, decimalsOf([micros]))).join(", ")}
    </Text>
  )
}

function List({ limits }: LimitList) {
  const { holder } = useNames()
  const commandFor = useShellCommand()
  const [filters] = useFilters()
  const chosen = filters["holder"]
  const shown = limits.filter((one) => chosen === undefined || holderOf(one) === chosen)
  const now = useNow()
  const decimals = limitDecimals(limits)
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
      title: "Of what",
      isWide: true,
      cell: (limit) => (
        <>
          {limitWords(limit)}
          {limit.leaveKeysOut ? ", keys left out" : ""}
          <Reminders of={limit} />
        </>
      ),
      sortBy: limitWords,
    },
    {
      title: "How it stands",
      isWide: true,
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
      title: "Used",
      isNumber: true,
      isWide: true,
      cell: ({ usedMicros }) => <Money micros={usedMicros} decimals={decimals} />,
      sortBy: ({ usedMicros }) => usedMicros,
    },
    {
      title: "Left",
      isNumber: true,
      cell: ({ remainingMicros }) => <Money micros={remainingMicros} decimals={decimals} />,
      sortBy: ({ remainingMicros }) => remainingMicros,
    },
    {
      title: "Limit",
      isNumber: true,
      isWide: true,
      cell: ({ amountMicros }) => <Money micros={amountMicros} decimals={decimals} />,
      sortBy: ({ amountMicros }) => amountMicros,
    },
    { title: "Resets in", isWide: true, cell: ({ resetsAt }) => <Until at={resetsAt} /> },
    { title: "Change", isNumber: true, cell: (limit) => <Row limit={limit} limits={limits} /> },
  ]
  const holders = new Map(limits.map((one) => [holderOf(one), holder(one)]))
  return (
    <Stack gap="sm">
      <FilterBar filters={[{ name: "holder", label: "Whose", options: [...holders] }]} />
      <DataTable
        {...{ label: "Limits", columns, rows: shown }}
        rowKey={({ holderId, class: counted }) => `${holderId} ${counted}`}
        place={spendingOf}
        empty={
          <Empty
            title="No limits yet"
            says="A limit stops spending of the company, of a person or of a key in a window of time."
            command={commandFor("limit set", "--class general --period month --dollars 200")}
          />
        }
      />
    </Stack>
  )
}

const holderOf = ({ holderId }: Limit): string => holderId ?? "company"

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
        undo={{
          operation: "limit-set",
          input: inputOf(valuesOf(limit)),
          done: "The limit holds again.",
        }}
      />
    </>
  )
}
