/** A company that spends: its ledger, its traffic, and the time of its decisions. */
import { isRefusal } from "../../domain/kernel/decider.ts"
import type { Charged, LedgerEvent } from "../../domain/charging/ledger-events.ts"
import type { LedgerState } from "../../domain/charging/ledger-state.ts"
import { accountOf, pendingChargeIds, readLimits } from "../../domain/charging/ledger-views.ts"
import { ledgerDecider } from "../../domain/charging/ledger.ts"
import { assertMeasurement } from "../benchmark.ts"
import type { Lap } from "../stopwatch.ts"
import { lap } from "../stopwatch.ts"
import { checkCalls, openLedgerAudit } from "./ledger-audit.ts"
import type { CompanySize } from "./generated-company.ts"
import { generateCompany } from "./generated-company.ts"
import type { StampedCommand } from "./traffic.ts"
import { AVERAGE_MICROS, MEAN_CALL_INTERVAL_MS, stampOf, openTraffic } from "./traffic.ts"

/** A company's ledger in use. */
export interface LedgerSimulation {
  /**
   * Decides and folds the next calls; pending charges of the step before are settled among them. The time includes all,
   * the count only accepted charges.
   *
   * @throws InvalidMeasurement if a fact does not match its call, or exceeds a limit
   */
  readonly step: (charges: number) => SimulationStep
  /** Compares the ledger with its facts. @throws InvalidMeasurement if they differ */
  readonly check: () => void
}

/** The result of some calls. */
export interface SimulationStep extends Lap {
  /** The facts, in order. */
  readonly events: readonly LedgerEvent[]
}

const DAY_MS = 86_400_000
/** A tight key may spend this share of a key's usual daily spending. */
const TIGHT_PART = 0.25
/** With fewer or more refusals it would be another benchmark than its title says. */
const REFUSED_RANGE = { leastPart: 0.01, mostPart: 0.08 }

/**
 * Opens a company of this size, whose traffic is drawn by `seed`.
 *
 * @param usual the accepted range of rejected charges
 */
export function openLedgerSimulation(
  size: CompanySize,
  seed: number,
  usual = REFUSED_RANGE,
): LedgerSimulation {
  const usualDayMicros = ((DAY_MS / MEAN_CALL_INTERVAL_MS) * AVERAGE_MICROS) / size.keys
  const company = generateCompany(size, Math.round(usualDayMicros * TIGHT_PART))
  const traffic = openTraffic(size, seed)
  const audit = openLedgerAudit()
  const openedAt = traffic.now()
  const books = { state: ledgerDecider.initial() }
  let open: readonly Charged[] = []
  let asked = 0
  let accepted = 0

  const perform = (commands: readonly StampedCommand[]): SimulationStep => {
    const events: LedgerEvent[] = []
    const taken = lap(() => decideAll(books, commands, events))
    accepted += taken.count
    for (const event of events) audit.record(event)
    return { ...taken, events }
  }

  perform(company.openingCommands.map((command) => ({ command, stamp: stampOf(openedAt) })))
  return {
    step: (charges) => {
      asked += charges
      const calls = traffic.charges(charges)
      const done = perform(interleaved(calls, traffic.settlements(open)))
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
        openCharges: pendingChargeIds(books.state),
        limits: readLimits(books.state, traffic.now()),
      })
      assertMeasurement(
        traffic.now() - openedAt > DAY_MS,
        "no day ended while charges were decided",
      )
      const refusedPart = (asked - accepted) / asked
      const isUsual = refusedPart >= usual.leastPart && refusedPart <= usual.mostPart
      assertMeasurement(isUsual, `${(refusedPart * 100).toFixed(1)} % of the charges were refused`)
    },
  }
}

/** Decides and folds. Returns the number of accepted charges, and adds their facts to `events`. */
function decideAll(
  books: { state: LedgerState },
  commands: readonly StampedCommand[],
  events: LedgerEvent[],
): number {
  let { state } = books
  let accepted = 0
  for (const { command, stamp } of commands) {
    const answer = ledgerDecider.decide(command, state, stamp)
    if (isRefusal(answer)) continue
    if (command.type === "Charge" && answer.length > 0) accepted += 1
    for (const event of answer) {
      state = ledgerDecider.evolve(state, event)
      events.push(event)
    }
  }
  books.state = state
  return accepted
}

/** Spreads the settlements evenly among the charges, each at the time of the charge before it. */
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
