/**
 * Waiting until the other processes of an installation have heard of what this one stored. A process
 * answers looks from memory that is at most a second old; whoever has just locked a company, or set a
 * limit, is told so only once nobody lets a caller in, or turns one away, on what was before.
 */
import type { Position } from "../../../adapters/eventstore/port.ts"
import type { ProcessQueryPorts } from "../../frame/writer/corrupt-list.ts"
import { openProcessQueries } from "../../frame/writer/corrupt-list.ts"
import { FRESH_FOR_MS } from "../../frame/writer/runner/freshness.ts"
import type { WorkerSlot } from "../../../adapters/postgres/home-worker.ts"
import type { ProcessNotifications, Processes } from "../../../adapters/postgres/leases/port.ts"
import type { Log } from "../../frame/kernel/log.ts"
import { ledgerStreamOf, refusalsStreamOf } from "../../../domain/charging/aggregates.ts"
import type { ChargeRefused } from "../../../domain/charging/ledger-events.ts"
import type { ChargeId, CompanyId } from "../../../domain/kernel/ids.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import { openBatcher } from "../../frame/writer/batcher.ts"
import type { Counters } from "../../frame/counters.ts"
import { newId } from "../../frame/kernel/ids.ts"
import type { Runner } from "../../frame/writer/runner.ts"

/** What the processes call out to one another. */
const POSITION_CHANNEL = "ledger_heard"

/** What this works with. */
interface ProcessSyncPorts extends ProcessQueryPorts {
  /** True once this process has heard of everything up to a place; false where the store is lost before. */
  readonly waitUntilDelivered: (place: Position) => Promise<boolean>
}

/** Resolves once every other process has heard of a place, and after a second in any case. */
type WaitForOtherProcesses = (place: Position) => Promise<void>

/** Begins to answer the others. @throws the driver's error where the database cannot be told */
export async function openProcessSync(ports: ProcessSyncPorts): Promise<WaitForOtherProcesses> {
  const { pacer, waitUntilDelivered, warn } = ports
  const ask = await openProcessQueries(ports, POSITION_CHANNEL, async (text) => {
    const [commit, prepare] = text.split(" ")
    if (commit === undefined || prepare === undefined) return false
    return waitUntilDelivered({ commit: BigInt(commit), prepare: BigInt(prepare) })
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

const JOBS_CHANNEL = "ledger_work"

/**
 * Begins to hear of it. Answers what tells of work that was written.
 *
 * @param wake looks for work here
 * @throws the driver's error where the database cannot be told
 */
export async function openJobNotifications(
  processes: ProcessNotifications & Pick<Processes, "ownId">,
  { seat, log }: { readonly seat?: WorkerSlot; readonly log: Log },
  wake: () => void,
): Promise<() => void> {
  if (seat === undefined || seat.total === 1) return wake
  await processes.listen(JOBS_CHANNEL, (teller) => {
    // Who tells has looked for itself.
    if (teller !== processes.ownId) wake()
  })
  return () => {
    wake()
    processes.notify(JOBS_CHANNEL, processes.ownId).catch((error: unknown) => {
      // They look by themselves twice a second.
      log.warn("the other processes could not be told of work", error)
    })
  }
}

/** So many events are folded between two lines of the log. */
const LOG_EVERY_EVENTS = 100_000

/**
 * Says that the start takes its time, and how far it came; what it is told of is broken off where nobody
 * waits for the start any more, and begins anew at the next one.
 *
 * @param signal aborted where the ledger is to stop
 */
export function rebuildReporter(
  log: Log,
  signal: AbortSignal | undefined,
): (name: string, events: number) => void {
  const told = new Map<string, number>()
  return (name, events) => {
    if (events >= (told.get(name) ?? 0)) {
      told.set(name, events + LOG_EVERY_EVENTS)
      log.info(`the read model ${name} is of another version and is built anew`, { events })
    }
    signal?.throwIfAborted()
  }
}

const MAX_BATCH = 500

/** What gathers before it is stored: closings, which move no money, and evidence of refusals. */
export function openBuffers(runner: Runner, log: Log, counts: Counters) {
  const closings = openBatcher<CompanyId, ChargeId>(MAX_BATCH, async (companyId, chargeIds) => {
    const command = { type: "SettleCharges" as const, chargeIds }
    await runner.execute(ledgerStreamOf(companyId), command, causedBy(newId("cmd")))
  })
  const refused = openBatcher<CompanyId, ChargeRefused>(MAX_BATCH, async (companyId, refusals) => {
    const command = { type: "RecordRefusals" as const, refusals }
    await runner.execute(refusalsStreamOf(companyId), command, causedBy(newId("cmd")))
  })
  return {
    settleCharge: (companyId: CompanyId, chargeId: ChargeId) => closings.add(companyId, chargeId),
    storeRefusal: (companyId: CompanyId, refusal: ChargeRefused) => {
      counts.increment("refused_charges", refusalLabels(refusal))
      refused.add(companyId, refusal).catch((error: unknown) => {
        log.warn("the evidence of a refusal could not be kept", error)
      })
    },
    flush: async () => {
      await runner.flush()
      await closings.waitUntilIdle()
      await refused.waitUntilIdle()
    },
  }
}

/** What a refused charge is counted as: its code, and the limit that refused it, of whomever that is. */
function refusalLabels({ code, limits, refusingLimit }: ChargeRefused) {
  const by = refusingLimit === null ? undefined : limits[refusingLimit]
  const { holder = "", class: spending = "", period = "" } = by ?? {}
  return { code, holder, class: spending, period }
}
