import { Checkbox, Select, SimpleGrid, Stack, TagsInput, Text, TextInput } from "@mantine/core"
import type { UseFormReturnType } from "@mantine/form"
import type { Limit, LimitList } from "../api/answers.ts"
import { useNames } from "../api/names.ts"
import { useAnswer } from "../api/operations.ts"
import { Action } from "../parts/action.tsx"
import { CopyAs, curlOf } from "../parts/copy-as.tsx"
import type { Column } from "../parts/data-table.tsx"
import { DataTable } from "../parts/data-table.tsx"
import { Empty } from "../parts/empty.tsx"
import { FormDialog, dollarsFault } from "../parts/form-dialog.tsx"
import { Bar, limitWords } from "../parts/limit-bar.tsx"
import { Loaded } from "../parts/loaded.tsx"
import { Money, dollarsText } from "../parts/money.tsx"
import { paceText } from "../parts/pace.ts"
import { Page } from "../parts/page.tsx"
import { Until } from "../parts/time.tsx"

const MICROS = 1_000_000

/** All limits: of the company, its people and its keys. */
export default function Limits() {
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
  const columns: readonly Column<Limit>[] = [
    {
      title: "Whose",
      cell: (limit) => (
        <>
          {holder(limit)}
          <Text size="xs" c="dimmed" hiddenFrom="sm">
            {limitWords(limit)}
          </Text>
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
            {paceText(limit) ?? "lasts at this pace"}
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

type Values = {
  /** `company`, a person's id or a key's. */
  readonly holder: string
  readonly class: string
  readonly period: string
  readonly dollars: string
  readonly leaveKeysOut: boolean
  readonly reminders: readonly string[]
}

function valuesOf(limit: Limit | undefined): Values {
  if (limit === undefined) {
    return {
      ...{ holder: "company", class: "general", period: "month", dollars: "" },
      ...{ leaveKeysOut: false, reminders: [] },
    }
  }
  return {
    holder: limit.holderId ?? "company",
    class: limit.class === "all" ? "general" : limit.class,
    period: limit.period,
    dollars: plain(limit.amountMicros),
    leaveKeysOut: limit.leaveKeysOut,
    reminders: limit.remindersMicros.map(plain),
  }
}

const plain = (micros: number): string => String(micros / MICROS)
const isKey = (holder: string): boolean => holder.startsWith("key_")
const isPerson = (holder: string): boolean => holder.startsWith("per_")

function inputOf({ holder, class: counted, period, dollars, leaveKeysOut, reminders }: Values) {
  const terms = { period, dollars: dollars.trim(), reminders }
  if (isKey(holder)) return { key: holder, ...terms }
  if (isPerson(holder)) return { person: holder, class: counted, leaveKeysOut, ...terms }
  return { class: counted, ...terms }
}

interface SetLimitProps {
  readonly limits: readonly Limit[]
  /** The one to change; a new one without. */
  readonly limit?: Limit
}

function SetLimit({ limits, limit }: SetLimitProps) {
  const isNew = limit === undefined
  return (
    <FormDialog<Values, unknown>
      operation="limit-set"
      label={isNew ? "Set a limit" : "Change"}
      title={isNew ? "Set a limit" : "Change the limit"}
      variant={isNew ? "filled" : "subtle"}
      initial={valuesOf(limit)}
      check={{
        dollars: dollarsFault,
        reminders: (found) => found.map(dollarsFault).find((fault) => fault !== null) ?? null,
        period: (period, { holder }) =>
          period === "day" && !isKey(holder) ? "Only a key's limit is for a day" : null,
      }}
      inputOf={inputOf}
      fields={(form) => <Fields form={form} limits={limits} isNew={isNew} />}
      does="Save"
      done="The limit holds from now on."
    />
  )
}

interface FieldsProps {
  readonly form: UseFormReturnType<Values>
  readonly limits: readonly Limit[]
  readonly isNew: boolean
}

function Fields({ form, limits, isNew }: FieldsProps) {
  const { people, keys } = useNames()
  const { holder } = form.values
  return (
    <>
      <Select
        label="Whose"
        allowDeselect={false}
        disabled={!isNew}
        data={[
          { value: "company", label: "The company" },
          {
            group: "People",
            items: people.map(([value, label]) => ({ value, label })),
          },
          {
            group: "Keys",
            items: keys.map(([value, label]) => ({ value, label: `Key ${label}` })),
          },
        ]}
        {...form.getInputProps("holder")}
      />
      <SimpleGrid cols={{ base: 1, xs: 3 }}>
        <Select
          label="Of what"
          allowDeselect={false}
          disabled={!isNew || isKey(holder)}
          data={
            isKey(holder)
              ? [{ value: form.values.class, label: "All spending" }]
              : [
                  { value: "general", label: "General spending" },
                  { value: "ai", label: "AI" },
                ]
          }
          {...form.getInputProps("class")}
        />
        <Select
          label="In a"
          allowDeselect={false}
          data={isKey(holder) ? ["day", "week", "month"] : ["week", "month"]}
          {...form.getInputProps("period")}
        />
        <TextInput label="Dollars" inputMode="decimal" {...form.getInputProps("dollars")} />
      </SimpleGrid>
      <TagsInput
        label="Remind at"
        description="Amounts of dollars, each with Enter; a mail goes out when so much is spent"
        value={[...form.values.reminders]}
        onChange={(reminders) => form.setFieldValue("reminders", reminders)}
        error={form.errors["reminders"]}
      />
      {isPerson(holder) ? (
        <Checkbox
          label="Leave keys out"
          description="What this person's keys spend does not count"
          {...form.getInputProps("leaveKeysOut", { type: "checkbox" })}
        />
      ) : null}
      <Before values={form.values} limits={limits} />
    </>
  )
}

/** What the limit would mean from now on, where what is used already is known. */
function Before({
  values,
  limits,
}: {
  readonly values: Values
  readonly limits: readonly Limit[]
}) {
  const { holder, class: counted, period, dollars, leaveKeysOut } = values
  const former = limits.find(
    (one) =>
      (one.holderId ?? "company") === holder && (one.class === "all" || one.class === counted),
  )
  const isKnown =
    former !== undefined && former.period === period && former.leaveKeysOut === leaveKeysOut
  if (!isKnown || dollarsFault(dollars) !== null) {
    return (
      <Text size="sm" c="dimmed">
        It holds from the next charge on, with what was already spent in its window.
      </Text>
    )
  }
  const left = Math.round(Number(dollars) * MICROS) - former.usedMicros
  return (
    <Text size="sm" fw={500}>
      Already used <Money micros={former.usedMicros} />
      {left <= 0 ? (
        "; this would refuse from now on until it resets in "
      ) : (
        <>
          ; <Money micros={left} /> would be left until it resets in{" "}
        </>
      )}
      <Until at={former.resetsAt} />.
    </Text>
  )
}
