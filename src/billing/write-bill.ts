/** Writes a bill: what the ledger says of it, its lines page by page, and whether both agree. */
import type { Micros } from "../../domain/kernel/money.ts"
import type { FileChunk, BillHead } from "./bill.ts"
import { openBillTotals, checkBillSums, brokenChainError, unreadableFactError } from "./bill.ts"
import type { BillFormatSpec, BillFormat } from "./formats.ts"
import { BILL_FORMAT_SPECS } from "./formats.ts"
import type { BillRequest, BillPorts, OpenedBill } from "./open-bill.ts"
import { openBill, verifyChainedHash, decodeLedgerFact } from "./open-bill.ts"
import { ledgerStreamOf } from "../../domain/charging/aggregates.ts"
import type { EventStore, StoredEvent } from "../../adapters/eventstore/port.ts"
import { FormatFault } from "../../domain/kernel/event-format.ts"
import type { BillLine } from "../../projections/charging/billing-lines.ts"
import { billLineOf } from "../../projections/charging/billing-lines.ts"
import { BILLED_FACT_TYPES, chargeRowOf } from "../../projections/charging/charge-lines.ts"

/** Where a bill is written to. */
export interface BillTarget {
  /** Takes a piece; resolves when there is room for the next. */
  readonly send: (piece: FileChunk) => Promise<void>
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
 * @throws BillRejected: nothing that was sent may be kept
 * @throws the signal's reason
 */
export async function writeBill(
  ports: BillPorts,
  asked: BillRequest & { readonly format: BillFormat },
  target: BillTarget,
): Promise<BillSummary> {
  const bill = await openBill(ports, asked)
  return writeOpenedBill(ports, bill, asked.format, target)
}

/** The same for a bill that was opened already. @throws BillRejected, and the signal's reason */
export async function writeOpenedBill(
  ports: BillPorts,
  bill: OpenedBill,
  format: BillFormat,
  target: BillTarget,
): Promise<BillSummary> {
  const { head } = bill
  const form: BillFormatSpec = BILL_FORMAT_SPECS[format]
  const writer = await form.openWriter(bill, ports)
  const fold = openBillTotals()
  const begun = ports.pacer.elapsedMs()
  await sendChunk(target, writer.begin())
  for await (const { lines, revision } of readBillLines(ports.store, bill)) {
    target.signal.throwIfAborted()
    fold.add(lines)
    await sendChunk(target, writer.lines(lines))
    const far = { bill, revision, lines: fold.lines() }
    target.progress(progressText(far, ports.pacer.elapsedMs() - begun))
  }
  checkBillSums(head, fold)
  await sendChunk(target, await writer.end())
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

async function sendChunk(target: BillTarget, piece: FileChunk): Promise<void> {
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
 * @throws BillRejected where the stream is not as it was sealed
 */
async function* readBillLines(
  store: EventStore,
  { head, after, upTo, hashBefore }: OpenedBill,
): AsyncGenerator<LinePage> {
  const stream = ledgerStreamOf(head.companyId).stream
  const lineFrom = billLineReader(head)
  let [revision, hash] = [after, hashBefore]
  let lines: BillLine[] = []
  if (upTo > after) {
    for await (const page of store.read(stream, { from: after + 1, limit: upTo - after })) {
      for (const stored of page) {
        hash = verifyChainedHash(stored, revision + 1, hash)
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
    throw brokenChainError(
      { stream, revision: revision + 1 },
      `revision ${revision + 1}`,
      "nothing",
    )
  }
  if (hash !== head.head.hash) {
    throw brokenChainError({ stream, revision }, `the hash ${head.head.hash}`, `the hash ${hash}`)
  }
  if (lines.length > 0) yield { lines, revision }
}

/** Makes lines of facts, one after another. */
function billLineReader({ companyId, from }: BillHead): (stored: StoredEvent) => BillLine | null {
  // Calls weigh in the night before they are charged. Those of the month before that were charged in
  // this one are remembered, so that giving them back corrects this month's line.
  const late = new Map<string, number>()
  return (stored) => {
    if (!BILLED_FACT_TYPES.some((type) => type === stored.type)) return null
    const fact = decodeFact(stored)
    const row = chargeRowOf({ companyId, revision: stored.revision, fact })
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

function decodeFact(stored: StoredEvent): ReturnType<typeof decodeLedgerFact> {
  try {
    return decodeLedgerFact(stored)
  } catch (error) {
    throw error instanceof FormatFault ? unreadableFactError(stored.stream, error) : error
  }
}
