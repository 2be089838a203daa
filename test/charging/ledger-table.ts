/**
 * Tables of steps that a person can read: a line is a step, its last column the answer.
 *
 *     when                 step
 *     2026-03-30 09:00     funds   1.00                             -> ok
 *     2026-03-30 09:00     limit   company general month  0.027     -> ok
 *     2026-03-30 09:01     charge  chg_1  key_1 of per_1  0.009     -> yes
 *
 * Instants are UTC, amounts dollars. Steps: `funds`, `limit <holder> <class> <period> <amount>`
 * (and `no keys`), `remove <holder> <class>`, `charge <id> <who> <amount>` with `<key> of <person>`,
 * `<key> shared`, `<key> for <person>` or `company`, `close <id>`, `back <id>`, `look <holder>
 * <class>`. A holder is `company`, a person or a key.
 */
import type { Stamped } from "../../domain/kernel/decider.ts"
import { isRefusal } from "../../domain/kernel/decider.ts"
import { dollarText, microsFromDollars } from "../../domain/kernel/money.ts"
import type { Period } from "../../domain/kernel/window.ts"
import type { Ledger } from "../../domain/charging/ledger-state.ts"
import type { LedgerCommand, LedgerRefusal } from "../../domain/charging/ledger-commands.ts"
import { ledger } from "../../domain/charging/ledger.ts"
import { readLimits } from "../../domain/charging/ledger-views.ts"
import type { LimitName, LimitReading, Spender } from "../../domain/charging/limits.ts"
import { REQUEST } from "./ledger-facts.ts"

/** The table with every answer as the ledger gives it: equal to the table, where it is right. */
export function playTable(table: string): string {
  let state = ledger.initial()
  return table
    .split("\n")
    .map((line) => {
      const [left, answer] = line.split("->")
      if (left === undefined || answer === undefined) return line
      const [day = "", time = "", ...words] = left.trim().split(/\s+/)
      const at = Date.parse(`${day}T${time}Z`)
      const step = answerTo(state, words, at)
      state = step.state
      return `${left}-> ${step.answer}`
    })
    .join("\n")
}

function answerTo(
  initial: Ledger,
  words: readonly string[],
  at: number,
): { readonly state: Ledger; readonly answer: string } {
  if (words[0] === "look") return { state: initial, answer: look(initial, words, at) }
  const command = { ...commandOf(words), at } as LedgerCommand & Stamped
  const answer = ledger.decide(command, initial)
  if (isRefusal(answer)) return { state: initial, answer: refusalText(answer) }
  const yes = command.type === "Charge" ? "yes" : "ok"
  const state = answer.reduce((folded, fact) => ledger.evolve(folded, fact), initial)
  return { state, answer: answer.length === 0 ? "nothing new" : yes }
}

function commandOf([step, ...words]: readonly string[]): LedgerCommand {
  const amountMicros = microsFromDollars(words.at(words.includes("no") ? -3 : -1) ?? "") ?? 0
  switch (step) {
    case "funds":
      return { type: "AddFunds", amountMicros, reference: null }
    case "limit":
      return {
        type: "SetLimit",
        ...nameOf(words),
        period: words[2] as Period,
        amountMicros,
        remindersMicros: [],
        leaveKeysOut: words.includes("no"),
      }
    case "remove":
      return { type: "RemoveLimit", ...nameOf(words) }
    case "charge": {
      const [chargeId = "", ...who] = words.slice(0, -1)
      const price = { unitPriceMicros: amountMicros, amountMicros }
      const charge = { ...REQUEST, chargeId, ...spenderOf(who), ...price }
      return { type: "Charge", ...charge, open: true, exempt: null, searchedTo: null }
    }
    case "close":
      return { type: "CloseCharges", chargeIds: words }
    case "back":
      return { type: "GiveBack", chargeId: words[0] ?? "", amountMicros: null, reason: "a table" }
    default:
      throw new Error(`no such step: ${step} ${words.join(" ")}`)
  }
}

function nameOf([who = "", limited]: readonly string[]): LimitName {
  const limitClass = limited as LimitName["class"]
  if (who === "company") return { holder: "company", holderId: null, class: limitClass }
  return { holder: who.startsWith("key") ? "key" : "person", holderId: who, class: limitClass }
}

function spenderOf([keyId = "", how, personId]: readonly string[]): Spender {
  if (keyId === "company") return { via: "company", keyId: null, personId: null }
  if (how === "of" && personId !== undefined) return { via: "own_key", keyId, personId }
  return { via: "shared_key", keyId, personId: personId ?? null }
}

function refusalText(refusal: LedgerRefusal): string {
  if (refusal.type !== "ChargeRefused") return `no: ${refusal.code}`
  const limit = refusal.limits[refusal.refusedBy ?? -1]
  if (limit === undefined) return `no: ${refusal.code}, funds ${dollarText(refusal.fundsMicros)}`
  return `no: ${readingText(limit)}`
}

function look(state: Ledger, words: readonly string[], at: number): string {
  const name = nameOf(words.slice(1))
  const found = readLimits(state, at).find((limit) => {
    return limit.holderId === name.holderId && limit.class === name.class
  })
  return found === undefined ? "no limit" : readingText(found)
}

function readingText(limit: LimitReading): string {
  const used = `used ${dollarText(limit.usedMicros)} of ${dollarText(limit.amountMicros)}`
  const resets = new Date(limit.resetsAt).toISOString().slice(0, 10)
  return `${limit.holderId ?? limit.holder}'s ${limit.period}, ${used}, anew ${resets}`
}
