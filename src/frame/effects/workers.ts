/**
 * The workers: they take rows of work that are due and do what each kind asks for. A row that fails
 * waits, longer each time, and is parked for an operator after many tries; it is never lost. The lease
 * of a row is renewed while it is worked on, so long work holds it for as long as its process lives.
 */
import { isConnectionFault } from "../../../adapters/postgres/port.ts"
import type { Bound, NewWork, TakenWork, WorkResult } from "../../../adapters/postgres/jobs/port.ts"
import { FOLLOW_UPS } from "../../../projections/kernel/follow-ups.ts"
import type { Ports } from "../ports.ts"
import { retryLater } from "./ask-again.ts"
import type { Handling, InHand } from "./hand.ts"
import { STOPPED, openHand } from "./hand.ts"
import type { Reaction, Work } from "./reaction.ts"

const AT_ONCE = 64
/** Of these, so many are kept for work that is soon done. */
const KEPT_FOR_SHORT = AT_ONCE / 2
/** Rows are taken so many at a time where there are more: a statement for each would cost more than most of them. */
const ROOM_TO_TAKE = 16
const POLL_MS = 500
const IDLE_LOOK_MS = 10
const MOST_TRIES = 20
const SETTLE_TRIES = 20
const SETTLE_AGAIN_MS = 250
const HEAR_AGAIN_MS = 50
const PROJECTED_WITHIN_MS = 30_000

/** Running workers. */
export interface Workers {
  /** Says that there may be new work. */
  readonly wake: () => void
  /**
   * Does a piece of work at once, in this process, unless its row is there already: then whoever takes
   * that does it. Resolves when it was done here or put off, with whether it was this process's.
   *
   * @param stopping where it aborts, the work is let go as if it had not been tried
   */
  readonly now: (work: NewWork, stopping: AbortSignal) => Promise<boolean>
  /** Resolves when no row is due (rows that wait out a back-off are not) and none is being done. */
  readonly idle: () => Promise<void>
  /** Takes no more rows and waits for those being done; long work is let go for another process. */
  readonly stop: () => Promise<void>
}

/** Starts the workers of this process. */
export function startWorkers(ports: Ports, reactions: readonly Reaction[]): Workers {
  const hand = openHand(
    ports,
    handlingOf(ports, reactions, () => wake()),
  )
  const { inHand } = hand
  let stopped = false
  let taking: Promise<void> | null = null
  let again = false
  let leastRoom = ROOM_TO_TAKE

  const take = async () => {
    do {
      again = false
      const room = AT_ONCE - inHand.size
      if (stopped || room < leastRoom) return
      leastRoom = ROOM_TO_TAKE
      await hand.letGoOfLost()
      const bounds = boundsOf(reactions, inHand)
      const rows = await hand.orLost(ports.work.take(ports.clock.now(), room, bounds))
      if (rows.length > 0 && !(await untilHeard(ports, () => stopped))) {
        await Promise.all(rows.map((row) => settle(ports, row, { result: "let go" })))
        return
      }
      for (const row of rows) hand.begin(row)
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
    now: async (work, stopping) => !stopped && (await hand.doNow(work, stopping)),
    idle: () =>
      untilNoneDue(ports, async () => {
        wake()
        while (taking !== null || inHand.size > 0) {
          await taking
          await hand.empty()
        }
      }),
    stop: async () => {
      stopped = true
      clearInterval(timer)
      await taking
      await hand.inserted()
      for (const { isLong, given } of inHand.values()) if (isLong) given.abort(STOPPED)
      await hand.close()
    },
  }
}

/** How rows are done, by their kinds. */
function handlingOf(ports: Ports, reactions: readonly Reaction[], onDone: () => void): Handling {
  const byKind = new Map(reactions.map((reaction) => [reaction.kind, reaction]))
  return {
    isLong: (kind) => byKind.get(kind)?.isLong === true,
    perform: (row, signal) => perform(ports, byKind.get(row.kind), row, signal),
    onDone,
  }
}

/** How many more of each bounded kind may be taken; long work leaves half of all places to others. */
function boundsOf(
  reactions: readonly Reaction[],
  inHand: ReadonlyMap<number, InHand>,
): readonly Bound[] {
  const all = [...inHand.values()]
  const long = all.filter(({ isLong }) => isLong).length
  return reactions
    .filter(({ isLong, atOnce }) => isLong === true || atOnce !== undefined)
    .map(({ kind, isLong, atOnce = {} }) => {
      const own = all.filter((one) => one.kind === kind).length
      const most = Math.max(0, (atOnce.process ?? AT_ONCE) - own)
      const mostShared = isLong === true ? Math.max(0, AT_ONCE - KEPT_FOR_SHORT - long) : null
      const { machine: perMachine = null, company: perCompany = null } = atOnce
      return { kind, most, mostShared, perMachine, perCompany }
    })
}

/** Does what is due until nothing is; what is another process's, or came just now, is waited for. */
async function untilNoneDue(
  ports: Pick<Ports, "clock" | "pacer" | "work">,
  doAll: () => Promise<void>,
): Promise<void> {
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
async function untilHeard(
  ports: Pick<Ports, "pacer" | "projector">,
  isStopped: () => boolean,
): Promise<boolean> {
  while (!isStopped()) {
    if (await ports.projector.hasRead(FOLLOW_UPS)) return true
    await ports.pacer.pause(HEAR_AGAIN_MS)
  }
  return false
}

/** Does one row. What went wrong becomes the row's result: nothing is thrown. */
async function perform(
  ports: Ports,
  reaction: Reaction | undefined,
  row: TakenWork,
  signal: AbortSignal,
): Promise<void> {
  const result = await keptOrLater(ports, row, await resultOf(ports, reaction, row, signal))
  // Whoever stops lets it go as if it had not been tried; whoever has it by now says what became of it.
  const given = signal.aborted && result.result !== "done" && result.result !== "let go"
  await settle(ports, row, given ? { result: "let go" } : result)
}

/**
 * A row that was inserted before its fact was projected stands in the way of the one that follows from
 * that fact. Under another kind it would not, and two rows would have the provider called for one intent:
 * so it keeps its kind until then. What is tried again meanwhile is asked about first.
 */
async function keptOrLater(
  ports: Pick<Ports, "log" | "projector" | "store">,
  row: TakenWork,
  result: WorkResult,
): Promise<WorkResult> {
  if (result.result !== "later" || (result.kind ?? row.kind) === row.kind) return result
  try {
    const head = await ports.store.head()
    if (await ports.projector.waitFor(head, PROJECTED_WITHIN_MS, [FOLLOW_UPS])) return result
    return retryLater(row, "what follows from facts is not written yet")
  } catch (error) {
    return failed(ports, row, error)
  }
}

async function resultOf(
  ports: Ports,
  reaction: Reaction | undefined,
  row: TakenWork,
  signal: AbortSignal,
): Promise<WorkResult> {
  const { kind, companyId, payload } = row
  if (reaction === undefined) return { result: "park", reason: `nobody does ${kind}` }
  if (companyId === null) return { result: "park", reason: `${kind} names no company` }
  const parsed = reaction.payload.safeParse(payload)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    const place = issue?.path.join(".") ?? ""
    return { result: "park", reason: `what ${kind} carries has no ${place} as it should be` }
  }
  const work: Work<unknown> = { ...row, companyId, payload: parsed.data, signal }
  try {
    return await inTrace(ports, work, () => reaction.perform(ports, work))
  } catch (error) {
    return signal.aborted ? { result: "let go" } : failed(ports, row, error)
  }
}

/** What follows from something that is told of is told of as well. */
function inTrace(
  { tracing }: Pick<Ports, "tracing">,
  { kind, trace, workId, tries, companyId }: Work<unknown>,
  work: () => Promise<WorkResult>,
): Promise<WorkResult> {
  if (trace === null || trace === undefined) return work()
  const attributes = {
    "ledger.work.id": workId,
    "ledger.work.kind": kind,
    "ledger.work.tries": tries,
    "ledger.company.id": companyId,
  }
  const spanned = { name: `work ${kind}`, kind: "consumer", attributes } as const
  return tracing.span(spanned, trace, async (span) => {
    const result = await work()
    span.note({ "ledger.work.result": result.result })
    if (result.result === "park") span.fails("parked")
    return result
  })
}

/** Keeps what became of a row, also over a connection that breaks just then. */
async function settle(
  ports: Pick<Ports, "log" | "pacer" | "work">,
  row: TakenWork,
  result: WorkResult,
): Promise<void> {
  if (result.result === "park") {
    const { workId, kind } = row
    ports.log.warn(`work ${workId} (${kind}) waits for an operator: ${result.reason}`, null)
  }
  for (let tries = 1; ; tries += 1) {
    try {
      return await ports.work.settle(row.workId, result)
    } catch (error) {
      if (tries < SETTLE_TRIES && isConnectionFault(error)) {
        await ports.pacer.pause(SETTLE_AGAIN_MS)
        continue
      }
      // The lease runs out and the row is done again: reactions may be repeated.
      ports.log.warn(`the outcome of work ${row.workId} could not be kept`, error)
      return
    }
  }
}

function failed(ports: Pick<Ports, "log">, row: TakenWork, error: unknown): WorkResult {
  const reason = error instanceof Error ? error.message : String(error)
  ports.log.warn(`work ${row.kind} failed`, error)
  if (row.tries >= MOST_TRIES) return { result: "park", reason }
  return retryLater(row, reason)
}
