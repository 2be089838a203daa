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

/** All limits, or those that apply to the reader's own spending. */
export default function LimitsPage() {
  return useCanRun("limit-list") ? <AllLimits /> : <OwnLimits />
}

/** The limits that apply to the reader's own spending. */
function OwnLimits() {
  const { holder } = useNames()
  const now = useNow()
  const own = useOperationQuery<LimitList>("limit-list")
  return (
    <PageLayout title="Limits" description="The limits that apply to your spending.">
      <QueryView query={own}>
        {({ limits }) =>
          limits.length === 0 ? (
            <EmptyState
              title="No limits"
              description="Only the company's funds limit your spending."
            />
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
      description="A charge is made only if it fits the funds and every limit that applies."
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

/** The amounts at which we send a reminder. */
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
      title: "Holder",
      cell: (limit) => (
        <>
          {holder(limit)}
          <NarrowLine>{limitLabel(limit)}</NarrowLine>
        </>
      ),
      sortBy: (limit) => holder(limit),
    },
    {
      title: "Class",
      isHiddenOnNarrow: true,
      cell: (limit) => (
        <>
          {limitLabel(limit)}
          {limit.leaveKeysOut ? ", without keys" : ""}
          <Reminders of={limit} />
        </>
      ),
      sortBy: limitLabel,
    },
    {
      title: "Usage",
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
      <FilterBar filters={[{ name: "holder", label: "Holder", options: [...holders] }]} />
      <DataTable
        label="Limits"
        columns={columns}
        rows={shown}
        rowKey={({ holderId, class: counted }) => `${holderId} ${counted}`}
        place={spendingOf}
        empty={
          <EmptyState
            title="No limits yet"
            description="A limit caps the spending of the company, a person or a key per period."
            command={commandFor("limit set", "--class general --period month --dollars 200")}
          />
        }
      />
    </Stack>
  )
}

const holderOf = ({ holderId }: Limit): string => holderId ?? "company"

/** The charges that a limit counts. */
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
        description={`The limit of ${dollarsText(limit.amountMicros)} for ${holder(limit)} (${limitLabel(limit)}) no longer applies.`}
        successMessage="The limit was removed."
        undo={{
          operation: "limit-set",
          input: limitInput(limitFormValues(limit)),
          successMessage: "The limit applies again.",
        }}
      />
    </>
  )
}
