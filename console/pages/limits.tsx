import { SimpleGrid, Stack, Text } from "@mantine/core"
import type { Limit, LimitList } from "../api/answers.ts"
import { useNames } from "../api/names.ts"
import { useOperationQuery, useCanRun } from "../api/operations.ts"
import { ActionButton } from "../parts/action-button.tsx"
import { CopyCommandButton, curlOf } from "../parts/copy-command.tsx"
import type { TableColumn } from "../parts/data-table.tsx"
import { DataTable } from "../parts/data-table.tsx"
import { EmptyState } from "../parts/empty-state.tsx"
import { FilterBar } from "../parts/filter-bar.tsx"
import { useFilters } from "../parts/filters.ts"
import { UsageBar, LimitBar, limitDecimals, limitLabel } from "../parts/limit-bar.tsx"
import type { LinkTarget } from "../parts/link.tsx"
import { QueryView } from "../parts/query-view.tsx"
import { Money, decimalsOf, dollarsText } from "../parts/money.tsx"
import { limitForecast } from "../parts/limit-forecast.ts"
import { useNow } from "../parts/use-now.ts"
import { NarrowLine } from "../parts/narrow-line.tsx"
import { PageLayout } from "../parts/page-layout.tsx"
import { SetLimitButton, limitInput, limitFormValues } from "../parts/set-limit.tsx"
import { useShellCommand } from "../parts/shell-command.ts"
import { TimeUntil } from "../parts/time.tsx"

/** All limits; those of the reader's own spending, where they may not see the company's. */
export default function LimitsPage() {
  return useCanRun("limit-list") ? <AllLimits /> : <OwnLimits />
}

/** The limits that the reader's own spending is held against. */
function OwnLimits() {
  const { holder } = useNames()
  const now = useNow()
  const own = useOperationQuery<LimitList>("limit-list")
  return (
    <PageLayout title="Limits" description="What you spend is held against these.">
      <QueryView query={own}>
        {({ limits }) =>
          limits.length === 0 ? (
            <EmptyState title="No limits" description="What you spend ends where the funds do." />
          ) : (
            <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="xl" verticalSpacing="lg">
              {limits.map((limit) => (
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
    </PageLayout>
  )
}

function AllLimits() {
  const list = useOperationQuery<LimitList>("limit-list")
  return (
    <PageLayout
      title="Limits"
      description="A charge is made only where it fits the funds and every limit that counts it."
      actions={
        <>
          <CopyCommandButton what="curl" command={curlOf("/api/v1/limits")} />
          <SetLimitButton limits={list.data?.limits ?? []} />
        </>
      }
    >
      <QueryView query={list}>{({ limits }) => <List limits={limits} />}</QueryView>
    </PageLayout>
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
  const columns: readonly TableColumn<Limit>[] = [
    {
      title: "Whose",
      cell: (limit) => (
        <>
          {holder(limit)}
          <NarrowLine>{limitLabel(limit)}</NarrowLine>
        </>
      ),
      sortBy: (limit) => holder(limit),
    },
    {
      title: "Of what",
      isHiddenOnNarrow: true,
      cell: (limit) => (
        <>
          {limitLabel(limit)}
          {limit.leaveKeysOut ? ", keys left out" : ""}
          <Reminders of={limit} />
        </>
      ),
      sortBy: limitLabel,
    },
    {
      title: "How it stands",
      isHiddenOnNarrow: true,
      cell: (limit) => (
        <Stack gap={4} miw={150}>
          <UsageBar label={`${holder(limit)}: ${limitLabel(limit)}`} {...limit} />
          <Text size="xs" c="dimmed">
            {limitForecast(limit, now) ?? "lasts at this pace"}
          </Text>
        </Stack>
      ),
      sortBy: ({ usedMicros, amountMicros }) => usedMicros / Math.max(1, amountMicros),
    },
    {
      title: "Used",
      isNumber: true,
      isHiddenOnNarrow: true,
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
      isHiddenOnNarrow: true,
      cell: ({ amountMicros }) => <Money micros={amountMicros} decimals={decimals} />,
      sortBy: ({ amountMicros }) => amountMicros,
    },
    {
      title: "Resets in",
      isHiddenOnNarrow: true,
      cell: ({ resetsAt }) => <TimeUntil at={resetsAt} />,
    },
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
          <EmptyState
            title="No limits yet"
            description="A limit stops spending of the company, of a person or of a key in a window of time."
            command={commandFor("limit set", "--class general --period month --dollars 200")}
          />
        }
      />
    </Stack>
  )
}

const holderOf = ({ holderId }: Limit): string => holderId ?? "company"

/** Where the spending is that a limit counts. */
function spendingOf({ holder, holderId }: Limit): LinkTarget {
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
      <SetLimitButton limits={limits} limit={limit} />
      <ActionButton
        operation="limit-remove"
        input={nameOf(limit)}
        label="Remove"
        variant="subtle"
        isDangerous
        description={`The limit of ${dollarsText(limit.amountMicros)} for ${holder(limit)} (${limitLabel(limit)}) stops nothing any more.`}
        successMessage="The limit was removed."
        undo={{
          operation: "limit-set",
          input: limitInput(limitFormValues(limit)),
          successMessage: "The limit holds again.",
        }}
      />
    </>
  )
}
