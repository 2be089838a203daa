/**
 * Waiting until the other processes of an installation have heard of what this one stored. A process
 * answers looks from memory that is at most a second old; whoever has just locked a company, or set a
 * limit, is told so only once nobody lets a caller in, or turns one away, on what was before.
 */
import type { Position } from "../../../adapters/eventstore/port.ts"
import type { AskPorts } from "../../frame/writer/corrupt-list.ts"
import { openAsking } from "../../frame/writer/corrupt-list.ts"
import { FRESH_FOR_MS } from "../../frame/writer/runner/fresh.ts"
import type { Seat } from "../../../adapters/postgres/homes.ts"
import type { Calls, Processes } from "../../../adapters/postgres/leases/port.ts"
import type { Log } from "../../frame/kernel/log.ts"
import { ledgerOf, refusalsOf } from "../../../domain/charging/aggregates.ts"
import type { ChargeRefused } from "../../../domain/charging/ledger-formats.ts"
import type { ChargeId, CompanyId } from "../../../domain/kernel/ids.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import { openGatherer } from "../../frame/writer/gather.ts"
import type { Counts } from "../../frame/counts.ts"
import { newId } from "../../frame/kernel/ids.ts"
import type { Runner } from "../../frame/writer/run.ts"

/** What the processes call out to one another. */
const HEARD = "ledger_heard"

/** What this works with. */
interface HearingPorts extends AskPorts {
  /** True once this process has heard of everything up to a place; false where the store is lost before. */
  readonly handedOver: (place: Position) => Promise<boolean>
}

/** Resolves once every other process has heard of a place, and after a second in any case. */
type HeardElsewhere = (place: Position) => Promise<void>

/** Begins to answer the others. @throws the driver's error where the database cannot be told */
export async function openHearing(ports: HearingPorts): Promise<HeardElsewhere> {
  const { pacer, handedOver, warn } = ports
  const ask = await openAsking(ports, HEARD, async (text) => {
    const [commit, prepare] = text.split(" ")
    if (commit === undefined || prepare === undefined) return false
    return handedOver({ commit: BigInt(commit), prepare: BigInt(prepare) })
  })
  return async ({ commit, prepare }) => {
    try {
      // Whoever asked waits no longer than what is in memory elsewhere may be used.
      await ask(`${commit} ${prepare}`, FRESH_FOR_MS)
    } catch (error) {
      // What was stored is stored: whoever did it is told so, once nothing older can be answered from.
      warn("the other processes could not be asked what they have heard", error)
      await pacer.pause(FRESH_FOR_MS)
    }
  }
}

// Telling of work. Rows of work are written by one process; where a machine has several, each does that of the
// companies at home in it, and is told at once and not at its next look.

const WORK = "ledger_work"

/**
 * Begins to hear of it. Answers what tells of work that was written.
 *
 * @param wake looks for work here
 * @throws the driver's error where the database cannot be told
 */
export async function openTelling(
  processes: Calls & Pick<Processes, "own">,
  { seat, log }: { readonly seat?: Seat; readonly log: Log },
  wake: () => void,
): Promise<() => void> {
  if (seat === undefined || seat.of === 1) return wake
  await processes.listen(WORK, (teller) => {
    // Who tells has looked for itself.
    if (teller !== processes.own) wake()
  })
  return () => {
    wake()
    processes.call(WORK, processes.own).catch((error: unknown) => {
      // They look by themselves twice a second.
      log.warn("the other processes could not be told of work", error)
    })
  }
}

/** So many events are folded between two lines of the log. */
const TOLD_EVERY_EVENTS = 100_000

/**
 * Says that the start takes its time, and how far it came; what it is told of is broken off where nobody
 * waits for the start any more, and begins anew at the next one.
 *
 * @param signal aborted where the ledger is to stop
 */
export function followRenewing(
  log: Log,
  signal: AbortSignal | undefined,
): (name: string, events: number) => void {
  const told = new Map<string, number>()
  return (name, events) => {
    if (events >= (told.get(name) ?? 0)) {
      told.set(name, events + TOLD_EVERY_EVENTS)
      log.info(`the read model ${name} is of another version and is built anew`, { events })
    }
    signal?.throwIfAborted()
  }
}

const MOST_AT_ONCE = 500

/** What gathers before it is stored: closings, which move no money, and evidence of refusals. */
export function openGathered(runner: Runner, log: Log, counts: Counts) {
  const closings = openGatherer<CompanyId, ChargeId>(MOST_AT_ONCE, async (companyId, chargeIds) => {
    const command = { type: "CloseCharges" as const, chargeIds }
    await runner.execute(ledgerOf(companyId), command, causedBy(newId("cmd")))
  })
  const refused = openGatherer<CompanyId, ChargeRefused>(
    MOST_AT_ONCE,
    async (companyId, refusals) => {
      const command = { type: "RecordRefusals" as const, refusals }
      await runner.execute(refusalsOf(companyId), command, causedBy(newId("cmd")))
    },
  )
  return {
    closeCharge: (companyId: CompanyId, chargeId: ChargeId) => closings.add(companyId, chargeId),
    keepRefusal: (companyId: CompanyId, refusal: ChargeRefused) => {
      counts.add("refused_charges", countedAs(refusal))
      refused.add(companyId, refusal).catch((error: unknown) => {
        log.warn("the evidence of a refusal could not be kept", error)
      })
    },
    settle: async () => {
      await runner.record()
      await closings.settled()
      await refused.settled()
    },
  }
}

/** What a refused charge is counted as: its code, and the limit that refused it, of whomever that is. */
function countedAs({ code, limits, refusingLimit }: ChargeRefused) {
  const by = refusingLimit === null ? undefined : limits[refusingLimit]
  const { holder = "", class: spending = "", period = "" } = by ?? {}
  return { code, holder, class: spending, period }
}
