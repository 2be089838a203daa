/** Funds and limits, as an operator sets them. */
import { accessOf } from "../../../domain/access/aggregates.ts"
import { ledgerOf } from "../../../domain/charging/aggregates.ts"
import { z } from "zod"
import { findKey } from "../../../domain/access/access.ts"
import { accountOf, readLimits } from "../../../domain/charging/ledger-views.ts"
import type { Limit, LimitName, LimitReading } from "../../../domain/charging/limits.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { Ports } from "../../frame/ports.ts"
import { limitStandings } from "../../../projections/charging/limits.ts"
import {
  accepted,
  dollars,
  findCompany,
  findPersonOf,
  showWrites,
  words,
} from "../../frame/operator/inputs.ts"
import type { AdminOperation } from "../../frame/operator/operation.ts"
import { OperatorRefused, operation } from "../../frame/operator/operation.ts"

const Holder = z.object({
  company: z.string(),
  person: z.string().optional(),
  key: z.string().optional(),
  class: z.enum(["ai", "general"]).optional(),
})

/** Which limit an operator names. @throws OperatorRefused where the words do not name one */
async function nameOf(
  ports: Ports,
  companyId: CompanyId,
  input: z.infer<typeof Holder>,
): Promise<LimitName> {
  const { person, key } = input
  if (person !== undefined && key !== undefined) {
    throw new OperatorRefused("validation", "A limit is for a person or for a key, not for both.")
  }
  if (key !== undefined) {
    if (input.class !== undefined) {
      throw new OperatorRefused(
        "validation",
        "A key's limit counts every class; leave --class out.",
      )
    }
    const found = await ports.runner.lookAtTail(accessOf(companyId), (s) => findKey(s, key))
    if (found === null) throw new OperatorRefused("not_found", `There is no key ${key}.`)
    return { holder: "key", holderId: key, class: "all" }
  }
  if (input.class === undefined) {
    const message = "A company's or person's limit needs --class ai or --class general."
    throw new OperatorRefused("validation", message)
  }
  if (person === undefined) return { holder: "company", holderId: null, class: input.class }
  await findPersonOf(ports, companyId, person)
  return { holder: "person", holderId: person, class: input.class }
}

const setLimit = operation({
  name: "limit set",
  input: Holder.extend({
    period: z.enum(["day", "week", "month"]),
    dollars,
    leaveKeysOut: z.boolean().default(false),
    reminders: z.array(dollars).default([]),
  }),
  run: async ({ ports, cause }, input) => {
    const companyId = await findCompany(ports, input.company)
    const name = await nameOf(ports, companyId, input)
    const limit: Limit = {
      ...name,
      period: input.period,
      amountMicros: input.dollars,
      remindersMicros: input.reminders,
      leaveKeysOut: input.leaveKeysOut,
    }
    const outcome = accepted(
      await ports.runner.execute(
        ledgerOf(companyId),
        { type: "SetLimit", ...limit },
        cause,
        (state, at) => readLimits(state, at),
      ),
    )
    const reading = outcome.view.find(
      (one) =>
        one.holder === name.holder && one.holderId === name.holderId && one.class === name.class,
    )
    const { leaveKeysOut, remindersMicros } = limit
    const set = reading === undefined ? null : { ...shown(reading), leaveKeysOut, remindersMicros }
    return { limit: set }
  },
})

const removeLimit = operation({
  name: "limit remove",
  input: Holder,
  run: async ({ ports, cause }, input) => {
    const companyId = await findCompany(ports, input.company)
    const name = await nameOf(ports, companyId, input)
    const stream = ledgerOf(companyId)
    const command = { type: "RemoveLimit" as const, ...name }
    accepted(await ports.runner.execute(stream, command, cause))
    return { removed: name }
  },
})

const listLimits = operation({
  name: "limit list",
  input: z.object({ company: z.string() }),
  run: async ({ ports }, { company }) => {
    const companyId = await findCompany(ports, company)
    // Calls that are only gathered weigh already: they are recorded, so that the list shows them.
    await ports.settle()
    await showWrites(ports)
    const standings = await limitStandings(ports.readAll, companyId, ports.clock.now())
    return {
      limits: standings.map((one) => ({
        ...shown(one),
        leaveKeysOut: one.leaveKeysOut,
        remindersMicros: one.remindersMicros,
      })),
    }
  },
})

function shown(reading: Omit<LimitReading, "askedMicros" | "pendingMicros">) {
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

const addFunds = operation({
  name: "funds add",
  input: z.object({ company: z.string(), dollars, reference: words.optional() }),
  run: async ({ ports, cause }, input) => {
    const companyId = await findCompany(ports, input.company)
    const outcome = accepted(
      await ports.runner.execute(
        ledgerOf(companyId),
        {
          type: "AddFunds",
          amountMicros: input.dollars,
          reference: input.reference ?? null,
        },
        cause,
        accountOf,
      ),
    )
    return {
      companyId,
      added: outcome.facts.length > 0,
      balanceMicros: outcome.view.fundsMicros,
    }
  },
})

const correctFunds = operation({
  name: "funds correct",
  input: z.object({ company: z.string(), dollars }),
  run: async ({ ports, cause }, { company, dollars: amountMicros }) => {
    const { reason } = cause
    if (reason === null) {
      throw new OperatorRefused("validation", "Say why the funds are corrected, with --reason.")
    }
    const companyId = await findCompany(ports, company)
    const command = { type: "CorrectFunds" as const, amountMicros, reason }
    const stream = ledgerOf(companyId)
    const outcome = accepted(await ports.runner.execute(stream, command, cause, accountOf))
    return { companyId, correctedMicros: amountMicros, balanceMicros: outcome.view.fundsMicros }
  },
})

/** Operations on money. */
export const moneyOperations: readonly AdminOperation[] = [
  setLimit,
  removeLimit,
  listLimits,
  addFunds,
  correctFunds,
]
