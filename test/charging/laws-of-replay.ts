/** Law 13: an auditor who has only the facts decides every fact and refusal again. */
import type { ChargeRefused, LedgerEvent } from "../../domain/charging/ledger-events.ts"
import type { LedgerState } from "../../domain/charging/ledger-state.ts"
import { ledgerDecider } from "../../domain/charging/ledger.ts"
import type { RefundableAmountOf } from "../../domain/charging/replay.ts"
import { ledgerCommandOf, replayRefusedCharge } from "../../domain/charging/replay.ts"
import { isRefusal } from "../../domain/kernel/decider.ts"
import { type LedgerLaw, canonicalText } from "./law.ts"
import { headHashAfter } from "./play-history.ts"

/** The facts so far: their state, their number, and the refundable amount of each charge. */
class FactReplay {
  state: LedgerState = ledgerDecider.initial()
  #count = 0
  readonly #left = new Map<string, number>()

  readonly #leftOf: RefundableAmountOf = (chargeId, chargedAt) =>
    this.#left.get(`${chargeId} ${chargedAt}`) ?? 0

  /** Decides the facts again, command by command; describes the difference, or returns null. */
  replay(facts: readonly LedgerEvent[]): string | null {
    let rest = facts
    while (rest.length > 0) {
      const first = rest.find(({ type }) => type !== "MonthClosed")
      const command =
        first === undefined
          ? { type: "CloseMonth" as const }
          : ledgerCommandOf(first, this.state, this.#leftOf)
      if (command === null) return `no command leads to ${canonicalText(first)}`
      const { at } = rest[0] as LedgerEvent
      const decided = ledgerDecider.decide(command, this.state, {
        at,
        ...headHashAfter(this.#count),
      })
      if (isRefusal(decided) || decided.length === 0)
        return `${canonicalText(command)} is decided as ${canonicalText(decided)}`
      const found = rest.slice(0, decided.length)
      if (canonicalText(decided) !== canonicalText(found))
        return `decided ${canonicalText(decided)}, recorded ${canonicalText(found)}`
      for (const fact of found) this.#fold(fact)
      rest = rest.slice(decided.length)
    }
    return null
  }

  #fold(fact: LedgerEvent): void {
    this.state = ledgerDecider.evolve(this.state, fact)
    this.#count += 1
    if (fact.type === "Charged") {
      const at = fact.isAlreadyCounted ? (fact.servedFrom ?? fact.at) : fact.at
      this.#left.set(`${fact.chargeId} ${at}`, fact.amountMicros)
    }
    if (fact.type === "ChargeReduced") {
      const name = `${fact.chargeId} ${fact.countedAt}`
      this.#left.set(name, (this.#left.get(name) ?? 0) - fact.amountMicros)
    }
  }
}

/** Decides a refused charge again from its evidence; describes the difference, or returns null. */
export function replayRefusal(state: LedgerState, refused: ChargeRefused): string | null {
  const decided = replayRefusedCharge(state, refused)
  return canonicalText(decided, "message") === canonicalText(refused, "message")
    ? null
    : `decided ${canonicalText(decided)}, recorded ${canonicalText(refused)}`
}

/** Law 13. Every fact and refusal follows from a command that the facts determine, on the facts before. */
export const factsFollowFromCommands: LedgerLaw = ({ steps }) => {
  const replay = new FactReplay()
  for (const step of steps) {
    if (step.does === "serve") continue
    const { answer } = step
    const wrong = !isRefusal(answer)
      ? replay.replay(answer)
      : answer.type === "ChargeRefused"
        ? replayRefusal(replay.state, answer)
        : null
    if (wrong !== null) return wrong
  }
  return null
}
