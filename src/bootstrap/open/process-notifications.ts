/**
 * Waits until the other processes of an installation have read what this one stored. A process may
 * answer from memory that is up to a second old, so a caller who locked a company or set a limit is
 * answered only when every process applies it.
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

const POSITION_CHANNEL = "ledger_heard"

interface ProcessSyncPorts extends ProcessQueryPorts {
  /**
   * True when this process has read everything up to a position; false if the store is lost first.
   */
  readonly waitUntilDelivered: (position: Position) => Promise<boolean>
}

/** Resolves when every other process has read a position, and after a second in any case. */
type WaitForOtherProcesses = (position: Position) => Promise<void>

/**
 * Starts to answer the other processes. @throws the driver's error if the database is unreachable
 */
export async function openProcessSync(ports: ProcessSyncPorts): Promise<WaitForOtherProcesses> {
  const { pacer, waitUntilDelivered, warn } = ports
  const ask = await openProcessQueries(ports, POSITION_CHANNEL, async (text) => {
    const [commit, prepare] = text.split(" ")
    if (commit === undefined || prepare === undefined) return false
    return waitUntilDelivered({ commit: BigInt(commit), prepare: BigInt(prepare) })
  })
  return async ({ commit, prepare }) => {
    try {
      // The wait is no longer than other processes may answer from memory.
      await ask(`${commit} ${prepare}`, FRESH_FOR_MS)
    } catch (error) {
      // The command is stored, so its caller is answered when no process can answer with older
      // state.
      warn("the other processes could not be asked for their position", error)
      await pacer.pause(FRESH_FOR_MS)
    }
  }
}

const JOBS_CHANNEL = "ledger_work"

/**
 * Starts to listen for new jobs of other processes. Returns the function that announces jobs
 * written here; then each worker looks for the jobs of its companies immediately.
 *
 * @param wake looks for jobs in this process
 * @throws the driver's error if the database is unreachable
 */
export async function openJobNotifications(
  processes: ProcessNotifications & Pick<Processes, "ownId">,
  { workerSlot, log }: { readonly workerSlot?: WorkerSlot; readonly log: Log },
  wake: () => void,
): Promise<() => void> {
  if (workerSlot === undefined || workerSlot.total === 1) return wake
  await processes.listen(JOBS_CHANNEL, (senderId) => {
    // The sender has already checked for jobs.
    if (senderId !== processes.ownId) wake()
  })
  return () => {
    wake()
    processes.notify(JOBS_CHANNEL, processes.ownId).catch((error: unknown) => {
      // They look by themselves twice a second.
      log.warn("the other processes could not be notified of a job", error)
    })
  }
}

/** Number of events between two log lines of a rebuild. */
const LOG_EVERY_EVENTS = 100_000

/**
 * Logs the progress of rebuilding a read model at the start. A stop aborts the rebuild, which
 * starts again at the next start.
 *
 * @param signal aborted when the ledger must stop
 */
export function rebuildReporter(
  log: Log,
  signal: AbortSignal | undefined,
): (name: string, events: number) => void {
  const nextLogAt = new Map<string, number>()
  return (name, events) => {
    if (events >= (nextLogAt.get(name) ?? 0)) {
      nextLogAt.set(name, events + LOG_EVERY_EVENTS)
      log.info(`rebuilding read model ${name}, because its version has changed`, { events })
    }
    signal?.throwIfAborted()
  }
}

const MAX_BATCH = 500

/** Buffers settlements, which move no money, and refusals before they are stored. */
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
        log.warn("the evidence of a refusal could not be stored", error)
      })
    },
    flush: async () => {
      await runner.flush()
      await closings.waitUntilIdle()
      await refused.waitUntilIdle()
    },
  }
}

function refusalLabels({ code, limits, refusingLimit }: ChargeRefused) {
  const by = refusingLimit === null ? undefined : limits[refusingLimit]
  const { holder = "", class: spending = "", period = "" } = by ?? {}
  return { code, holder, class: spending, period }
}
