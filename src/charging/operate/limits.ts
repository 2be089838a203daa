/** Operations on spending limits. */
import { accessStreamOf } from "../../../domain/access/aggregates.ts"
import { ledgerStreamOf } from "../../../domain/charging/aggregates.ts"
import { z } from "zod"
import { findKey } from "../../../domain/access/access.ts"
import { findLimitByScope, readLimits } from "../../../domain/charging/ledger-views.ts"
import type { Limit, LimitScope, LimitReading } from "../../../domain/charging/limits.ts"
import type { CompanyId, KeyId } from "../../../domain/kernel/ids.ts"
import type { Ports } from "../../frame/ports.ts"
import { listKeys } from "../../../projections/access/keys.ts"
import { listLimitStatuses } from "../../../projections/charging/limits.ts"
import {
  requireAccepted,
  companyInput,
  dollarsInput,
  DOLLARS_NOTE,
  findCompany,
  findPersonOf,
  requireKeyId,
  keyNotFound,
  waitForOwnWrites,
  withCrossFieldCheck,
} from "../../frame/operator/inputs.ts"
import type { AdminOperation, AdminPorts } from "../../frame/operator/operation.ts"
import { OWNER_OR_ADMIN, operation } from "../../frame/operator/operation.ts"
import { fundsOperations } from "./funds.ts"
import { limitToOwnSpending } from "./charge-days.ts"
import { formatMoney } from "../../../domain/kernel/money.ts"

const LimitHolderInput = z.object({
  company: companyInput,
  person: z.string().optional().meta({ description: "the limit of this person, by id" }),
  key: z.string().optional().meta({ description: "the limit of this key, by id" }),
  class: z
    .enum(["ai", "general"])
    .optional()
    .meta({ description: "which spending it limits; required for a company or person" }),
})

const HOLDER_NOTE =
  "Without --person and --key it is the company's own limit. The limit of a company or person has " +
  "a class and a period of a week or month; a key's limit covers all spending in a day, week or month."

/** Explains why the input names no limit; null if it does. */
function holderFault({
  person,
  key,
  class: limited,
}: z.infer<typeof LimitHolderInput>): string | null {
  if (person !== undefined && key !== undefined) {
    return "a limit is for a --person or for a --key, not for both"
  }
  if (key !== undefined && limited !== undefined) {
    return "a key's limit counts every class; leave out --class"
  }
  if (key === undefined && limited === undefined) {
    return "the limit of a company or person needs --class ai or --class general"
  }
  return null
}

const NewLimit = LimitHolderInput.extend({
  period: z.enum(["day", "week", "month"]).meta({ description: "the period of the limit" }),
  dollars: dollarsInput.meta({ description: "the maximum spending in a period" }),
  leaveKeysOut: z
    .boolean()
    .default(false)
    .meta({ description: "do not count what the person's keys spend" }),
  reminders: z
    .array(dollarsInput)
    .default([])
    .meta({ description: "send a reminder when this much is spent", flag: "remind" }),
})

function limitFault(input: z.infer<typeof NewLimit>): string | null {
  const { person, key, period, leaveKeysOut } = input
  const fault = holderFault(input)
  if (fault !== null) return fault
  if (key === undefined && period === "day") {
    return "the limit of a company or person is for a week or month; only a key's limit can be for a day"
  }
  if (leaveKeysOut && person === undefined) {
    return "--leave-keys-out is only for the limit of a --person"
  }
  return null
}

/**
 * Finds the limit that an operator names.
 *
 * @throws OperatorRefused if there is no such person or key
 */
async function findLimitName(
  ports: Pick<Ports, "runner">,
  companyId: CompanyId,
  input: z.infer<typeof LimitHolderInput>,
): Promise<LimitScope> {
  const { person, key } = input
  if (key !== undefined) {
    const keyId = requireKeyId(key)
    const found = await ports.runner.readLatest(accessStreamOf(companyId), (s) => findKey(s, keyId))
    if (found === null) throw keyNotFound(key)
    return { holder: "key", holderId: keyId, class: "all" }
  }
  if (input.class === undefined) throw new Error("a limit without a class is a key's")
  if (person === undefined) return { holder: "company", holderId: null, class: input.class }
  const personId = await findPersonOf(ports, companyId, person)
  return { holder: "person", holderId: personId, class: input.class }
}

const setLimit = operation({
  name: "limit set",
  summary: "set a spending limit",
  notes: [
    HOLDER_NOTE,
    "This replaces the existing limit, including its reminders. Pass --remind and --leave-keys-out again to keep them.",
    DOLLARS_NOTE,
    "Periods begin at midnight UTC, weeks on Monday.",
  ],
  example: "limit set --company acme --class general --period month --dollars 200 --remind 150 190",
  changes: true,
  input: withCrossFieldCheck(NewLimit, limitFault),
  consoleAccess: { roles: OWNER_OR_ADMIN },
  run: async ({ ports, cause }, input) => {
    const companyId = await findCompany(ports, input.company)
    const name = await findLimitName(ports, companyId, input)
    const limit: Limit = {
      ...name,
      period: input.period,
      amountMicros: input.dollars,
      remindersMicros: input.reminders,
      leaveKeysOut: input.leaveKeysOut,
    }
    const stream = ledgerStreamOf(companyId)
    const replaced = await ports.runner.readLatest(stream, (state) => findLimitByScope(state, name))
    const outcome = requireAccepted(
      await ports.runner.execute(stream, { type: "SetLimit", ...limit }, cause, (state, at) =>
        readLimits(state, at),
      ),
    )
    const reading = outcome.view.find(
      (one) =>
        one.holder === name.holder && one.holderId === name.holderId && one.class === name.class,
    )
    const { leaveKeysOut, remindersMicros } = limit
    const set =
      reading === undefined ? null : { ...toLimitUsage(reading), leaveKeysOut, remindersMicros }
    return { limit: set, replaced: replaced === null ? null : toLimitTerms(replaced) }
  },
  render: renderSetLimit,
})

const removeLimit = operation({
  name: "limit remove",
  summary: "remove a spending limit",
  notes: [HOLDER_NOTE],
  example: "limit remove --company acme --class ai",
  changes: true,
  input: withCrossFieldCheck(LimitHolderInput, holderFault),
  consoleAccess: { roles: OWNER_OR_ADMIN },
  run: async ({ ports, cause }, input) => {
    const companyId = await findCompany(ports, input.company)
    const name = await findLimitName(ports, companyId, input)
    const stream = ledgerStreamOf(companyId)
    const former = await ports.runner.readLatest(stream, (state) => findLimitByScope(state, name))
    const command = { type: "RemoveLimit" as const, ...name }
    requireAccepted(await ports.runner.execute(stream, command, cause))
    return { removed: name, former: former === null ? null : toLimitTerms(former) }
  },
  render: renderRemovedLimit,
})

const listLimits = operation({
  name: "limit list",
  summary: "list a company's spending limits: used, remaining and when each resets",
  notes: ["Amounts are US dollars; with --json micros, millionths of a dollar. Times are UTC."],
  example: "limit list --company acme --json",
  input: z.object({
    company: companyInput,
    person: z.string().optional().meta({
      description:
        "only the limits that apply to this person, by id: their own, their keys' and the company's",
    }),
  }),
  consoleAccess: { permission: "See billing", ownInput: limitToOwnSpending },
  run: async ({ ports }, input) => {
    const companyId = await findCompany(ports, input.company)
    // Buffered calls count against the limits already, so they are stored before the list is read.
    await ports.flush()
    await waitForOwnWrites(ports)
    const all = await listLimitStatuses(ports.readAll, companyId, ports.clock.now())
    const statuses =
      input.person === undefined ? all : await limitsForPerson(ports, companyId, input.person, all)
    return {
      limits: statuses.map((one) => ({
        ...toLimitUsage(one),
        leaveKeysOut: one.leaveKeysOut,
        remindersMicros: one.remindersMicros,
      })),
    }
  },
})

/**
 * Selects the limits that apply to a person.
 *
 * @throws OperatorRefused if the company has no such person
 */
async function limitsForPerson<L extends Pick<Limit, "holder" | "holderId">>(
  ports: Pick<AdminPorts, "readAll" | "runner">,
  companyId: CompanyId,
  person: string,
  all: readonly L[],
): Promise<readonly L[]> {
  const personId = await findPersonOf(ports, companyId, person)
  const listed = await listKeys(ports.readAll, companyId)
  const keyIds = new Set(
    listed.filter((key) => key.person_id === personId).map((key) => key.key_id),
  )
  return all.filter(({ holder, holderId }) => {
    if (holder === "person") return holderId === personId
    return holder === "company" || keyIds.has(holderId as KeyId)
  })
}

export const limitAndFundsOperations: readonly AdminOperation[] = [
  setLimit,
  removeLimit,
  listLimits,
  ...fundsOperations,
]

/** The terms of a limit, without its holder and class. */
function toLimitTerms({ period, amountMicros, leaveKeysOut, remindersMicros }: Limit) {
  return { period, amountMicros, leaveKeysOut, remindersMicros }
}

type LimitTerms = ReturnType<typeof toLimitTerms>

/** The usage of a limit, in micros. */
function toLimitUsage(reading: Omit<LimitReading, "askedMicros" | "unrecordedMicros">) {
  const { holder, holderId, class: limited, period, amountMicros } = reading
  const { usedMicros, remainingMicros, resetsAt } = reading
  return {
    holder,
    holderId,
    class: limited,
    period,
    amountMicros,
    usedMicros,
    remainingMicros,
    resetsAt: new Date(resetsAt).toISOString(),
  }
}

type LimitUsage = ReturnType<typeof toLimitUsage>

/** Two lines: the new limit and the one it replaced, then what is used and left. */
function renderSetLimit(set: {
  readonly limit: (LimitUsage & LimitTerms) | null
  readonly replaced: LimitTerms | null
}): string {
  const { limit, replaced } = set
  const former = replaced === null ? "none" : termsText(replaced)
  if (limit === null) return `It replaced ${former}.\n`
  const { usedMicros, remainingMicros, resetsAt } = limit
  return (
    `${limitText(limit)} is ${termsText(limit)}. It replaced ${former}.\n` +
    `${formatMoney(usedMicros)} is used, ${formatMoney(remainingMicros)} is left; ` +
    `it resets at ${resetsAt}.\n`
  )
}

function renderRemovedLimit(done: {
  readonly removed: LimitScope
  readonly former: LimitTerms | null
}): string {
  const { removed, former } = done
  const terms = former === null ? "" : ` of ${termsText(former)}`
  return `${limitText(removed)}${terms} is removed.\n`
}

/** Names a limit by its holder and class, in the words of a refusal. */
function limitText({ holder, class: limited }: Pick<LimitScope, "holder" | "class">): string {
  return `The ${holder}'s ${limited === "all" ? "" : `${limited} `}limit`
}

function termsText({ period, amountMicros, leaveKeysOut, remindersMicros }: LimitTerms): string {
  const reminders = remindersMicros.map(formatMoney).join(", ")
  const remind = reminders === "" ? "" : `, with reminders at ${reminders}`
  return `${formatMoney(amountMicros)} a ${period}${remind}${leaveKeysOut ? ", without keys" : ""}`
}
