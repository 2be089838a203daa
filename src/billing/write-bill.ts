/** Writes a bill: what the ledger says of it, its lines page by page, and whether both agree. */
import type { Micros } from "../../domain/kernel/money.ts"
import type { Piece, BillHead } from "./bill.ts"
import { openBillFold, settleBill, brokenChain, unreadable } from "./bill.ts"
import type { BillForm, BillFormat } from "./formats.ts"
import { BILL_FORMS } from "./formats.ts"
import type { BillAsked, BillPorts, OpenedBill } from "./open-bill.ts"
import { openBill, chainedHash, factOf } from "./open-bill.ts"
import { ledgerOf } from "../../domain/charging/aggregates.ts"
import type { EventStore, StoredEvent } from "../../adapters/eventstore/port.ts"
import { FormatFault } from "../../domain/kernel/format.ts"
import type { BillLine } from "../../projections/charging/billing-lines.ts"
import { billLineOf } from "../../projections/charging/billing-lines.ts"
import { LINE_FACTS, lineOf } from "../../projections/charging/charge-lines.ts"

/** Where a bill is written to. */
export interface BillTarget {
  /** Takes a piece; resolves when there is room for the next. */
  readonly send: (piece: Piece) => Promise<void>
  readonly progress: (message: string) => void
  /** Aborted when nobody waits any more. */
  readonly signal: AbortSignal
}

/** What was written, for whoever asked for it. */
interface BillSummary {
  readonly companyId: string
  readonly month: string
  readonly state: "open" | "closed"
  readonly lines: number
  /** What its lines sum to: the change of the funds, from opening to closing. */
  readonly fundsChangeMicros: Micros
  readonly openingMicros: Micros
  readonly closingMicros: Micros
  /** The ledger's last fact that it goes up to. */
  readonly headRevision: number
  readonly head: string
}

/**
 * Writes a bill. Its last piece is sent only once its lines add up to what the ledger says.
 *
 * @throws BillRefused: nothing that was sent may be kept
 * @throws the signal's reason
 */
export async function writeBill(
  ports: BillPorts,
  asked: BillAsked & { readonly format: BillFormat },
  target: BillTarget,
): Promise<BillSummary> {
  const bill = await openBill(ports, asked)
  return writeOpened(ports, bill, asked.format, target)
}

/** The same for a bill that was opened already. @throws BillRefused, and the signal's reason */
export async function writeOpened(
  ports: BillPorts,
  bill: OpenedBill,
  format: BillFormat,
  target: BillTarget,
): Promise<BillSummary> {
  const { head } = bill
  const form: BillForm = BILL_FORMS[format]
  const writer = await form.open(bill, ports)
  const fold = openBillFold()
  const begun = ports.pacer.elapsedMs()
  await give(target, writer.begin())
  for await (const { lines, revision } of linesOfBill(ports.store, bill)) {
    target.signal.throwIfAborted()
    fold.add(lines)
    await give(target, writer.lines(lines))
    const far = { bill, revision, lines: fold.lines() }
    target.progress(progressText(far, ports.pacer.elapsedMs() - begun))
  }
  settleBill(head, fold)
  await give(target, await writer.end())
  const { companyId, month, state, openingMicros, closingMicros } = head
  return {
    companyId,
    month,
    state,
    lines: fold.lines(),
    fundsChangeMicros: fold.totalMicros(),
    openingMicros,
    closingMicros,
    headRevision: head.head.revision,
    head: head.head.hash,
  }
}

async function give(target: BillTarget, piece: Piece): Promise<void> {
  target.signal.throwIfAborted()
  if (piece.length > 0) await target.send(piece)
}

/** How far it has come, by the revisions of its lines. */
function progressText(
  { bill, revision, lines }: { bill: OpenedBill; revision: number; lines: number },
  tookMs: number,
): string {
  const done = (revision - bill.after) / Math.max(1, bill.upTo - bill.after)
  const perSecond = Math.round((lines * 1_000) / Math.max(1, tookMs))
  const left = Math.ceil((tookMs * (1 - done)) / Math.max(done, 1e-6) / 1_000)
  const number = (value: number) => value.toLocaleString("en-US")
  return `${number(lines)} lines, ${Math.floor(done * 100)} %, ${number(perSecond)} a second, ${left} s left`
}

// The lines of a bill, read from the ledger's own stream: each fact's hash is computed again on the
// way, from the one that the month before was sealed with to the one that the bill ends at. So a file
// says what the ledger says, whatever the read models hold.

/** How many lines are given at a time. */
const PAGE_LINES = 5_000

/** Lines of a bill, and how far they come. */
interface LinePage {
  readonly lines: readonly BillLine[]
  /** The revision of the last fact that was read. */
  readonly revision: number
}

/**
 * The lines of a bill, in pages. While one is written the store reads on.
 *
 * @throws BillRefused where the stream is not as it was sealed
 */
async function* linesOfBill(
  store: EventStore,
  { head, after, upTo, hashBefore }: OpenedBill,
): AsyncGenerator<LinePage> {
  const stream = ledgerOf(head.companyId).stream
  const lineFrom = openLines(head)
  let [revision, hash] = [after, hashBefore]
  let lines: BillLine[] = []
  if (upTo > after) {
    for await (const page of store.read(stream, { from: after + 1, limit: upTo - after })) {
      for (const stored of page) {
        hash = chainedHash(stored, revision + 1, hash)
        revision += 1
        const line = lineFrom(stored)
        if (line !== null) lines.push(line)
      }
      if (lines.length < PAGE_LINES) continue
      yield { lines, revision }
      lines = []
    }
  }
  if (revision !== upTo) {
    throw brokenChain({ stream, revision: revision + 1 }, `revision ${revision + 1}`, "nothing")
  }
  if (hash !== head.head.hash) {
    throw brokenChain({ stream, revision }, `the hash ${head.head.hash}`, `the hash ${hash}`)
  }
  if (lines.length > 0) yield { lines, revision }
}

/** Makes lines of facts, one after another. */
function openLines({ companyId, from }: BillHead): (stored: StoredEvent) => BillLine | null {
  // Calls weigh in the night before they are charged. Those of the month before that were charged in
  // this one are remembered, so that giving them back corrects this month's line.
  const late = new Map<string, number>()
  return (stored) => {
    if (!LINE_FACTS.some((type) => type === stored.type)) return null
    const fact = read(stored)
    const row = lineOf({ companyId, revision: stored.revision, fact })
    if (row === null) return null
    if (fact.type === "ChargeReduced") {
      return billLineOf(row, late.get(fact.chargeId) ?? fact.countedAt)
    }
    const isLate =
      fact.type === "Charged" && fact.isAlreadyCounted && (fact.servedFrom ?? fact.at) < from
    if (isLate) late.set(fact.chargeId, fact.at)
    return billLineOf(row)
  }
}

function read(stored: StoredEvent): ReturnType<typeof factOf> {
  try {
    return factOf(stored)
  } catch (error) {
    throw error instanceof FormatFault ? unreadable(stored.stream, error) : error
  }
}
