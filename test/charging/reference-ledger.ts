/**
 * A plain second ledger, written from the rules and not from the first one: its state is the list of
 * its facts (see `plain-facts.ts`).
 *
 * It knows no bound of exact arithmetic: the histories it judges stay far below.
 */
import type { Stamped } from "../../domain/kernel/decider.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import type {
  ChargeRefusalCode,
  Charged,
  LedgerEvent,
  ReminderReached,
} from "../../domain/charging/ledger-events.ts"
import type {
  Charge,
  GiveBack,
  LedgerCommand,
  LedgerRefusal,
  LedgerRefused,
  SetLimit,
} from "../../domain/charging/ledger-commands.ts"
import type { Limit } from "../../domain/charging/limits.ts"
import { closingsDue } from "./plain-months.ts"
import type { Facts, Rules } from "./plain-facts.ts"
import {
  RULES,
  applyingTo,
  creditLineIn,
  isPrepaidOnlyIn,
  fundsIn,
  hasRoom,
  isLockedIn,
  isSameName,
  limitsIn,
  openIn,
  spentIn,
} from "./plain-facts.ts"

/** What a ledger answers: facts, or a no. */
export type Answer = readonly LedgerEvent[] | LedgerRefusal

const MAX_OPEN = 10_000
const MAX_AMOUNT = 9_000_000_000_000_000

/** What the facts say to a command. */
export function decideByReference(
  facts: Facts,
  command: LedgerCommand & Stamped,
  rules: Rules = RULES,
): Answer {
  const answer = decideInMonth(facts, command, rules)
  if (!Array.isArray(answer) || answer.length === 0) return answer
  return [...closingsDue(facts, command.at, command.headHash ?? "0".repeat(64)), ...answer]
}

function decideInMonth(facts: Facts, command: LedgerCommand & Stamped, rules: Rules): Answer {
  const { at } = command
  const refused = (code: LedgerRefused["code"]): LedgerRefused => {
    return { type: "LedgerRefused", at, code, message: "" }
  }
  switch (command.type) {
    case "OpenLedger": {
      const { prepaidOnly, creditLineMicros } = command
      if (facts.some(({ type }) => type === "LedgerOpened")) return []
      if (!isAmount(creditLineMicros)) return refused("bad_amount")
      return [{ type: "LedgerOpened", at, prepaidOnly, creditLineMicros }]
    }
    case "AddFunds": {
      const { amountMicros, reference } = command
      const isKnown = facts.some((fact) => {
        return fact.type === "FundsAdded" && fact.reference === reference && reference !== null
      })
      if (isKnown) return []
      if (!isAmount(amountMicros) || amountMicros === 0) return refused("bad_amount")
      return [{ type: "FundsAdded", at, amountMicros, reference }]
    }
    case "SetLimit":
      return setLimit(facts, command, refused("bad_limit"))
    case "RemoveLimit": {
      const { holder, holderId, class: limited } = command
      const known = limitsIn(facts).some((limit) => isSameName(limit, command))
      if (!known) return refused("no_such_limit")
      return [{ type: "LimitRemoved", at, holder, holderId, class: limited }]
    }
    case "Charge":
      return charge(facts, command, rules, refused("bad_amount"))
    case "CloseCharges": {
      const open = openIn(facts)
      const chargeIds = command.chargeIds.filter((id, i, all) => {
        return open.includes(id) && all.indexOf(id) === i
      })
      return chargeIds.length === 0 ? [] : [{ type: "ChargesClosed", at, chargeIds }]
    }
    case "GiveBack":
      return giveBack(facts, command, refused("bad_amount"))
    case "LockAccount":
      return isLockedIn(facts) ? [] : [{ type: "AccountLocked", at }]
    case "UnlockAccount":
      return isLockedIn(facts) ? [{ type: "AccountUnlocked", at }] : []
    default:
      throw new Error(`no history has this: ${command.type}`)
  }
}

function isAmount(amount: Micros): boolean {
  return Number.isInteger(amount) && amount >= 0 && amount <= MAX_AMOUNT
}

const PERIODS_OF = {
  company: ["week", "month"],
  person: ["week", "month"],
  key: ["day", "week", "month"],
}

function setLimit(facts: Facts, command: SetLimit & Stamped, refused: LedgerRefused): Answer {
  const { at, holder, holderId, period, amountMicros, remindersMicros, leaveKeysOut } = command
  const isLegal =
    (holder === "company") === (holderId === null) &&
    (holder === "key" ? ["all"] : ["ai", "general"]).includes(command.class) &&
    PERIODS_OF[holder].includes(period) &&
    isAmount(amountMicros) &&
    remindersMicros.every((amount) => isAmount(amount) && amount > 0) &&
    (holder === "person" || !leaveKeysOut)
  if (!isLegal) return refused
  const limit = { holder, holderId, class: command.class, period, amountMicros }
  const wanted: Limit = { ...limit, remindersMicros, leaveKeysOut }
  const former = limitsIn(facts).find((one) => isSameName(one, command))
  if (JSON.stringify(shape(former)) === JSON.stringify(shape(wanted))) return []
  return [{ type: "LimitSet", at, ...wanted }]
}

function shape(limit: Limit | undefined): unknown {
  return [limit?.period, limit?.amountMicros, limit?.remindersMicros, limit?.leaveKeysOut]
}

function charge(
  facts: Facts,
  command: Charge & Stamped,
  rules: Rules,
  refused: LedgerRefused,
): Answer {
  const open = openIn(facts)
  if (open.includes(command.chargeId)) return []
  if (command.amountMicros < 0) return refused
  const { type: _type, open: isOpen, exempt, searchedTo: _, headHash: __, ...request } = command
  const limits = applyingTo(facts, request, command.at, rules)
  const refusedBy = limits.findIndex((limit) => !hasRoom(limit))
  const [fundsMicros, creditLineMicros] = [fundsIn(facts), creditLineIn(facts)]
  let code: ChargeRefusalCode | null = null
  if (isOpen && open.length >= MAX_OPEN) code = "too_many_open_charges"
  const free = command.amountMicros === 0 || exempt !== null
  if (!free && fundsMicros + creditLineMicros < command.amountMicros) {
    code = "payment_required"
  }
  if (refusedBy !== -1) code = "spend_limit_reached"
  if (isLockedIn(facts)) code = "account_locked"
  if (code === null) {
    const charged: Charged = {
      type: "Charged",
      ...request,
      open: isOpen,
      exempt,
      once: false,
      weighed: false,
    }
    return [charged, ...remindersAfter(facts, charged, rules)]
  }
  return {
    type: "ChargeRefused",
    ...request,
    open: isOpen,
    exempt,
    code,
    ledgerRevision: facts.length - 1,
    fundsMicros,
    creditLineMicros,
    prepaidOnly: isPrepaidOnlyIn(facts),
    pendingMicros: 0,
    limits,
    refusedBy: code === "spend_limit_reached" ? refusedBy : null,
  }
}

function remindersAfter(facts: Facts, charged: Charged, rules: Rules): readonly ReminderReached[] {
  const told = facts.filter((fact) => fact.type === "ReminderReached")
  return applyingTo([...facts, charged], charged, charged.at, rules).flatMap((reading) => {
    const { holder, holderId, class: limited, period, usedMicros, windowStart, resetsAt } = reading
    const wanted = limitsIn(facts).find((limit) => isSameName(limit, reading))?.remindersMicros
    return [...new Set(wanted)]
      .sort((a, b) => a - b)
      .filter((amount) => amount <= usedMicros)
      .filter(
        (amount) =>
          !told.some((one) => {
            const isSame = isSameName(one, reading) && one.period === period
            return isSame && one.reminderMicros === amount && one.windowStart === windowStart
          }),
      )
      .map((reminderMicros): ReminderReached => ({
        type: "ReminderReached",
        at: charged.at,
        holder,
        holderId,
        class: limited,
        period,
        limitMicros: reading.amountMicros,
        reminderMicros,
        usedMicros,
        windowStart,
        resetsAt,
      }))
  })
}

function giveBack(facts: Facts, command: GiveBack & Stamped, refused: LedgerRefused): Answer {
  const { at, chargeId, reason } = command
  const found = spentIn(facts).find(({ charged, ended }) => charged.chargeId === chargeId && !ended)
  if (found === undefined) return []
  const { charged } = found
  const asked = command.amountMicros
  if (asked !== null && (asked <= 0 || asked > charged.amountMicros)) return refused
  const { via, keyId, personId, class: charging, item, resource } = charged
  return [
    {
      type: "ChargeGivenBack",
      at,
      chargeId,
      amountMicros: asked ?? charged.amountMicros,
      chargedAt: charged.at,
      via,
      keyId,
      personId,
      class: charging,
      item,
      resource,
      reason,
    },
  ]
}
