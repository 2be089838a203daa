/**
 * The workers: they take rows of work that are due and do what each kind asks for. A row that fails
 * waits, longer each time, and is parked for an operator after many tries; it is never lost.
 */
import { isConnectionFault } from "../../../adapters/postgres/port.ts"
import type { TakenWork, WorkResult } from "../../../adapters/work/port.ts"
import type { CompanyPlan } from "../../../domain/company/companies.ts"
import type { WorkKind } from "../../../projections/work.ts"
import { work as workRows } from "../../../projections/work.ts"
import { causedBy } from "../kernel/envelope.ts"
import type { Ports } from "../ports.ts"
import { retryLater } from "./back-off.ts"
import { chargeCalls } from "../../charging/reactions/charge-calls.ts"
import { closeMonth } from "../../charging/reactions/close-month.ts"
import { collectCredit } from "../../credits/reactions/collect-credit.ts"
import { switchKeys } from "../../company/reactions/company-deletion.ts"
import { endCharge } from "./end-charge.ts"
import { eraseCompany } from "../../company/reactions/erase-company.ts"
import { openCompany } from "../../company/reactions/open-company.ts"
import { payPurchase } from "../../credits/reactions/pay-purchase.ts"
import { sendReminder } from "../../charging/reactions/send-reminder.ts"
import { askText, sendText } from "../../phone/reactions/send-text.ts"

const AT_ONCE = 64
/** Rows are taken so many at a time where there are more: a statement for each would cost more than most of them. */
const ROOM_TO_TAKE = 16
const POLL_MS = 500
const IDLE_LOOK_MS = 10
const MOST_TRIES = 20
const SETTLE_TRIES = 20
const SETTLE_AGAIN_MS = 250
const HEAR_AGAIN_MS = 50

type Handler = (ports: Ports, work: TakenWork) => Promise<WorkResult>

const HANDLERS: Readonly<Record<WorkKind, Handler>> = {
  "open-company": async (ports, work) => {
    // Rows of before do not say who it was.
    const plan = work.payload as CompanyPlan & { readonly place: number; readonly actor?: string }
    const cause = { ...causedBy(`open-company ${plan.companyId}`), actor: plan.actor ?? null }
    await openCompany(ports, plan, plan.place, cause)
    return { result: "done" }
  },
  "send-text": sendText,
  "ask-text": askText,
  "end-charge": endCharge,
  "close-month": closeMonth,
  "charge-calls": chargeCalls,
  "send-reminder": sendReminder,
  "pay-purchase": payPurchase,
  "collect-credit": collectCredit,
  "switch-keys": switchKeys,
  "erase-company": eraseCompany,
}

/** Running workers. */
export interface Workers {
  /** Says that there may be new work. */
  readonly wake: () => void
  /** Resolves when no row is due (rows that wait out a back-off are not) and none is being done. */
  readonly idle: () => Promise<void>
  /** Takes no more rows and waits for those being done. */
  readonly stop: () => Promise<void>
}

/** Starts the workers of this process. */
export function startWorkers(ports: Ports): Workers {
  // What is being done, by its row.
  const inHand = new Map<number, Promise<void>>()
  let stopped = false
  let taking: Promise<void> | null = null
  let again = false
  let leastRoom = ROOM_TO_TAKE
  // Rows may be taken by a statement whose answer never came.
  let answerLost = false

  const take = async () => {
    do {
      again = false
      const room = AT_ONCE - inHand.size
      if (stopped || room < leastRoom) return
      leastRoom = ROOM_TO_TAKE
      if (answerLost) await ports.work.letGo([...inHand.keys()])
      answerLost = true
      const rows = await ports.work.take(ports.clock.now(), room)
      answerLost = false
      if (rows.length > 0 && !(await untilHeard(ports, () => stopped))) {
        await ports.work.letGo([...inHand.keys()])
        return
      }
      for (const row of rows) {
        const { workId } = row
        const doing = perform(ports, row).finally(() => {
          inHand.delete(workId)
          wake()
        })
        inHand.set(workId, doing)
      }
    } while (again)
  }

  const wake = () => {
    if (stopped) return
    again = true
    taking ??= take()
      .catch((error: unknown) => ports.log.warn("work could not be taken", error))
      .finally(() => {
        taking = null
        // Somebody may have called between the last look and here.
        if (again) wake()
      })
  }

  const timer = setInterval(() => {
    // Also a little room is used now and then: what is in hand may take long.
    leastRoom = 1
    wake()
  }, POLL_MS).unref()
  return {
    wake,
    idle: () =>
      untilNoneDue(ports, async () => {
        wake()
        while (taking !== null || inHand.size > 0) {
          await taking
          await Promise.all(inHand.values())
        }
      }),
    stop: async () => {
      stopped = true
      clearInterval(timer)
      await taking
      await Promise.all(inHand.values())
    },
  }
}

/** Does what is due until nothing is; what is another process's, or came just now, is waited for. */
async function untilNoneDue(ports: Ports, doAll: () => Promise<void>): Promise<void> {
  for (;;) {
    await doAll()
    if ((await ports.work.dueCount(ports.clock.now())) === 0) return
    await ports.pacer.pause(IDLE_LOOK_MS)
  }
}

/**
 * Another process may have written the rows: what they follow from is heard here before they are
 * done, so that nobody looks for it in vain. False where it is stopped before.
 */
async function untilHeard(ports: Ports, isStopped: () => boolean): Promise<boolean> {
  while (!isStopped()) {
    if (await ports.projector.hasRead(workRows.name)) return true
    await ports.pacer.pause(HEAR_AGAIN_MS)
  }
  return false
}

/** Does one row. What went wrong becomes the row's result: nothing is thrown. */
async function perform(ports: Ports, row: TakenWork): Promise<void> {
  const handler = HANDLERS[row.kind as WorkKind] as Handler | undefined
  const result =
    handler === undefined
      ? ({ result: "park", reason: `nobody does ${row.kind}` } as const)
      : await handler(ports, row).catch((error: unknown) => failed(ports, row, error))
  await settle(ports, row, result)
}

/** Keeps what became of a row, also over a connection that breaks just then. */
async function settle(ports: Ports, row: TakenWork, result: WorkResult): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await ports.work.settle(row.workId, result)
    } catch (error) {
      if (tries < SETTLE_TRIES && isConnectionFault(error)) {
        await ports.pacer.pause(SETTLE_AGAIN_MS)
        continue
      }
      // The lease runs out and the row is done again: handlers may be repeated.
      ports.log.warn(`the outcome of work ${row.workId} could not be kept`, error)
      return
    }
  }
}

function failed(ports: Ports, row: TakenWork, error: unknown): WorkResult {
  const reason = error instanceof Error ? error.message : String(error)
  ports.log.warn(`work ${row.kind} failed`, error)
  if (row.tries >= MOST_TRIES) return { result: "park", reason }
  return retryLater(row, reason)
}
