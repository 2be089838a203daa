import { Checkbox, Select, SimpleGrid, TagsInput, Text, TextInput } from "@mantine/core"
import type { UseFormReturnType } from "@mantine/form"
import type { ChargeDays, Limit } from "../api/answers.ts"
import { useNames } from "../api/names.ts"
import { useOperationQuery } from "../api/operations.ts"
import { OperationFormButton, dollarsFault } from "./operation-form-button.tsx"
import { Money, typedDollars } from "./money.tsx"
import { useNow } from "./use-now.ts"
import { TimeUntil } from "./time.tsx"

const MICROS = 1_000_000
const DAY_MS = 86_400_000

type Values = {
  /** `company`, or the id of a person or key. */
  readonly holder: string
  readonly class: string
  readonly period: string
  readonly dollars: string
  readonly leaveKeysOut: boolean
  readonly reminders: readonly string[]
}

/** Form values of a limit; defaults for a new one. */
export function limitFormValues(limit: Limit | undefined): Values {
  if (limit === undefined) {
    return {
      holder: "company",
      class: "general",
      period: "month",
      dollars: "",
      leaveKeysOut: false,
      reminders: [],
    }
  }
  return {
    holder: limit.holderId ?? "company",
    class: limit.class === "all" ? "general" : limit.class,
    period: limit.period,
    dollars: typedDollars(limit.amountMicros),
    leaveKeysOut: limit.leaveKeysOut,
    reminders: limit.remindersMicros.map(typedDollars),
  }
}

const isKey = (holder: string): boolean => holder.startsWith("key_")
const isPerson = (holder: string): boolean => holder.startsWith("per_")

/** Input of `limit-set`. */
export function limitInput({
  holder,
  class: counted,
  period,
  dollars,
  leaveKeysOut,
  reminders,
}: Values) {
  const terms = { period, dollars: dollars.trim(), reminders }
  if (isKey(holder)) return { key: holder, ...terms }
  if (isPerson(holder)) return { person: holder, class: counted, leaveKeysOut, ...terms }
  return { class: counted, ...terms }
}

interface SetLimitProps {
  readonly limits: readonly Limit[]
  /** The limit to change; a new one without. */
  readonly limit?: Limit
}

/** A button with a form that sets or changes a limit. */
export function SetLimitButton({ limits, limit }: SetLimitProps) {
  const isNew = limit === undefined
  return (
    <OperationFormButton<Values, unknown>
      operation="limit-set"
      label={isNew ? "Set a limit" : "Change"}
      title={isNew ? "Set a limit" : "Change the limit"}
      variant={isNew ? "filled" : "subtle"}
      initialValues={limitFormValues(limit)}
      validators={{
        dollars: dollarsFault,
        reminders: (found) => found.map(dollarsFault).find((fault) => fault !== null) ?? null,
        period: (period, { holder }) =>
          period === "day" && !isKey(holder) ? "Only limits of keys can be daily" : null,
      }}
      inputOf={limitInput}
      fields={(form) => <Fields form={form} limits={limits} isNew={isNew} />}
      submitLabel="Save"
      successMessage="The limit applies from now on."
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
        label="Holder"
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
          label="Class"
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
          label="Period"
          allowDeselect={false}
          data={isKey(holder) ? ["day", "week", "month"] : ["week", "month"]}
          {...form.getInputProps("period")}
        />
        <TextInput label="Dollars" inputMode="decimal" {...form.getInputProps("dollars")} />
      </SimpleGrid>
      <TagsInput
        label="Remind at"
        description="Amounts of dollars, each with Enter. We send a mail when this much is spent."
        value={[...form.values.reminders]}
        onChange={(reminders) => form.setFieldValue("reminders", reminders)}
        error={form.errors["reminders"]}
      />
      {isPerson(holder) ? (
        <Checkbox
          label="Exclude keys"
          description="Spending of this person's keys does not count"
          {...form.getInputProps("leaveKeysOut", { type: "checkbox" })}
        />
      ) : null}
      <LimitPreview values={form.values} limits={limits} />
    </>
  )
}

/** Spending of the holder and class in the current window; null if unknown. */
function useSpentInWindow(
  { holder, class: counted, period, leaveKeysOut }: Values,
  isNeeded: boolean,
) {
  const now = useNow()
  const days = windowDays(period, now)
  const ofHolder = isKey(holder)
    ? { key: holder }
    : { ...(isPerson(holder) ? { person: holder } : {}), class: counted }
  const months = [...new Set(days.map((day) => day.slice(0, 7)))]
  const [first = "", last = first] = months
  const isKnown = isNeeded && !leaveKeysOut
  const of = (month: string) => ({ ...ofHolder, month })
  const one = useOperationQuery<ChargeDays>("charge-days", of(first), isKnown)
  const two = useOperationQuery<ChargeDays>("charge-days", of(last), isKnown)
  if (!isKnown || one.data === undefined || two.data === undefined) return null
  const found = first === last ? one.data.days : [...one.data.days, ...two.data.days]
  return found.reduce((sum, { day, netMicros }) => sum + (days.includes(day) ? netMicros : 0), 0)
}

/** The UTC days of a window up to today, as `YYYY-MM-DD`; weeks start on Monday. */
function windowDays(period: string, now: number): readonly string[] {
  const today = new Date(now)
  const back =
    period === "month"
      ? today.getUTCDate() - 1
      : period === "week"
        ? (today.getUTCDay() + 6) % 7
        : 0
  return Array.from({ length: back + 1 }, (_, ago) =>
    new Date(now - ago * DAY_MS).toISOString().slice(0, 10),
  )
}

/** The effect of the entered limit, if current usage is known. */
function LimitPreview({
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
  const spent = useSpentInWindow(values, !isKnown)
  const usedMicros = isKnown ? former.usedMicros : spent
  if (usedMicros === null || dollarsFault(dollars) !== null) {
    return (
      <Text size="sm" c="dimmed">
        It applies from the next charge. Spending so far in the period counts.
      </Text>
    )
  }
  const left = Math.round(Number(dollars) * MICROS) - usedMicros
  return (
    <Text size="sm" fw={500}>
      Already used <Money micros={usedMicros} />
      {left <= 0 ? (
        `; all charges would be refused until the end of the ${period}`
      ) : (
        <>
          ; <Money micros={left} /> would be left
        </>
      )}
      {isKnown ? (
        <>
          {" "}
          until it resets in <TimeUntil at={former.resetsAt} />
        </>
      ) : null}
      .
      {former === undefined ? null : (
        <>
          {" "}
          It replaces <Money micros={former.amountMicros} /> a {former.period}.
        </>
      )}
    </Text>
  )
}
