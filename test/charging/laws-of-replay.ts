/** Law 13: an auditor who has the facts alone decides each of them, and each refusal, again. */
import type { ChargeRefused, LedgerEvent } from "../../domain/charging/ledger-formats.ts"
import type { Ledger } from "../../domain/charging/ledger-state.ts"
import { ledger } from "../../domain/charging/ledger.ts"
import type { LeftOf } from "../../domain/charging/replayed.ts"
import { commandOfFact, decideAgain } from "../../domain/charging/replayed.ts"
import { isRefusal } from "../../domain/kernel/decider.ts"
import { type Law, show } from "./law.ts"
import { hashAfter } from "./play.ts"

/** The facts so far: their state, how many they are, and what is left of each charge. */
class Replay {
  state: Ledger = ledger.initial()
  #count = 0
  readonly #left = new Map<string, number>()

  readonly #leftOf: LeftOf = (chargeId, chargedAt) =>
    this.#left.get(`${chargeId} ${chargedAt}`) ?? 0

  /** Decides the facts of one command again, one command after the other; answers what differs, or null. */
  take(facts: readonly LedgerEvent[]): string | null {
    let rest = facts
    while (rest.length > 0) {
      const led = rest.find(({ type }) => type !== "MonthClosed")
      const command =
        led === undefined
          ? { type: "CloseMonth" as const }
          : commandOfFact(led, this.state, this.#leftOf)
      if (command === null) return `nothing asks for ${show(led)}`
      const { at } = rest[0] as LedgerEvent
      const decided = ledger.decide(command, this.state, { at, ...hashAfter(this.#count) })
      if (isRefusal(decided) || decided.length === 0) return `${show(command)} is ${show(decided)}`
      const found = rest.slice(0, decided.length)
      if (show(decided) !== show(found)) return `decides ${show(decided)}, not ${show(found)}`
      for (const fact of found) this.#fold(fact)
      rest = rest.slice(decided.length)
    }
    return null
  }

  #fold(fact: LedgerEvent): void {
    this.state = ledger.evolve(this.state, fact)
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

/** Decides a refused charge again from its evidence; answers what differs, or null. */
export function refusedAgain(state: Ledger, refused: ChargeRefused): string | null {
  const decided = decideAgain(state, refused)
  return show(decided, "message") === show(refused, "message")
    ? null
    : `refuses ${show(decided)}, not ${show(refused)}`
}

/** 13. Each fact and each refusal follows from a command that the facts name, decided on the facts before. */
export const factsAreDecidedAgain: Law = ({ steps }) => {
  const replay = new Replay()
  for (const step of steps) {
    if (step.does === "serve") continue
    const { answer } = step
    const wrong = !isRefusal(answer)
      ? replay.take(answer)
      : answer.type === "ChargeRefused"
        ? refusedAgain(replay.state, answer)
        : null
    if (wrong !== null) return wrong
  }
  return null
}
