/** A company that spends: its ledger, its traffic, and the time that deciding takes. */
import { isRefusal } from "../../domain/kernel/decider.ts"
import type { Charged, LedgerEvent } from "../../domain/charging/ledger-formats.ts"
import type { Ledger } from "../../domain/charging/ledger-state.ts"
import { accountOf, openCharges, readLimits } from "../../domain/charging/ledger-views.ts"
import { ledger } from "../../domain/charging/ledger.ts"
import { honest } from "../benchmark.ts"
import type { Lap } from "../stopwatch.ts"
import { lap } from "../stopwatch.ts"
import { checkCalls, openAudit } from "./audit.ts"
import type { CompanySize } from "./company.ts"
import { companyOf } from "./company.ts"
import type { StampedCommand } from "./traffic.ts"
import { AVERAGE_MICROS, STEP_MS, stampOf, trafficOf } from "./traffic.ts"

/** A company's ledger while it is used. */
export interface Spending {
  /**
   * Decides and folds the next calls; open charges of the step before are ended among them. What is
   * timed are all of them, what is counted are the charges whose callers were told yes.
   *
   * @throws Dishonest where a fact is not that of its call, or takes a sum over the edge
   */
  readonly step: (charges: number) => Step
  /** Compares the ledger with its facts. @throws Dishonest where something is not as it must be */
  readonly check: () => void
}

/** What some calls came to. */
export interface Step extends Lap {
  /** The facts, in order. */
  readonly events: readonly LedgerEvent[]
}

const DAY_MS = 86_400_000
/** A tight key may spend this part of what a key spends on a usual day. */
const TIGHT_PART = 0.25
/** Fewer or more refusals than this would be another benchmark than the one it is named for. */
const REFUSED = { leastPart: 0.01, mostPart: 0.08 }

/**
 * Opens a company of this size, whose traffic is drawn by `seed`.
 *
 * @param usual which part of its charges may be refused
 */
export function openSpending(size: CompanySize, seed: number, usual = REFUSED): Spending {
  const usualDayMicros = ((DAY_MS / STEP_MS) * AVERAGE_MICROS) / size.keys
  const company = companyOf(size, Math.round(usualDayMicros * TIGHT_PART))
  const traffic = trafficOf(size, seed)
  const audit = openAudit()
  const openedAt = traffic.now()
  const books = { state: ledger.initial() }
  let open: readonly Charged[] = []
  let asked = 0
  let accepted = 0

  const perform = (commands: readonly StampedCommand[]): Step => {
    const events: LedgerEvent[] = []
    const taken = lap(() => run(books, commands, events))
    accepted += taken.count
    for (const event of events) audit.record(event)
    return { ...taken, events }
  }

  perform(company.opening.map((command) => ({ command, stamp: stampOf(openedAt) })))
  return {
    step: (charges) => {
      asked += charges
      const calls = traffic.charges(charges)
      const done = perform(interleaved(calls, traffic.endings(open)))
      checkCalls(
        calls.map(({ command }) => command),
        done.events,
      )
      open = done.events
        .filter((event) => event.type === "Charged")
        .filter((event) => event.isPending)
      return done
    },
    check: () => {
      audit.compare({
        acknowledged: accepted,
        fundsMicros: accountOf(books.state).fundsMicros,
        openCharges: openCharges(books.state),
        limits: readLimits(books.state, traffic.now()),
      })
      honest(traffic.now() - openedAt > DAY_MS, "no day ended while charges were decided")
      const refusedPart = (asked - accepted) / asked
      const isUsual = refusedPart >= usual.leastPart && refusedPart <= usual.mostPart
      honest(isUsual, `${(refusedPart * 100).toFixed(1)} % of the charges were refused`)
    },
  }
}

/** Decides and folds. Answers how many charges were accepted, and adds their facts to `events`. */
function run(
  books: { state: Ledger },
  commands: readonly StampedCommand[],
  events: LedgerEvent[],
): number {
  let { state } = books
  let accepted = 0
  for (const { command, stamp } of commands) {
    const answer = ledger.decide(command, state, stamp)
    if (isRefusal(answer)) continue
    if (command.type === "Charge" && answer.length > 0) accepted += 1
    for (const event of answer) {
      state = ledger.evolve(state, event)
      events.push(event)
    }
  }
  books.state = state
  return accepted
}

/** The endings spread evenly among the charges, each at the time of the charge before it. */
function interleaved(
  charges: readonly StampedCommand[],
  endings: readonly StampedCommand[],
): readonly StampedCommand[] {
  const every = Math.ceil(charges.length / Math.max(1, endings.length))
  const all: StampedCommand[] = []
  for (const [i, charge] of charges.entries()) {
    all.push(charge)
    const ending = i % every === 0 ? endings[i / every] : undefined
    if (ending !== undefined) all.push({ ...ending, stamp: charge.stamp })
  }
  return all
}
