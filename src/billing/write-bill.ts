/** Writes a bill: head, lines page by page, and the check that both agree. */
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

export interface BillTarget {
  /** Sends a chunk; resolves when there is room for the next. */
  readonly send: (chunk: FileChunk) => Promise<void>
  readonly progress: (message: string) => void
  /** Aborted when the bill is no longer needed. */
  readonly signal: AbortSignal
}

interface BillSummary {
  readonly companyId: string
  readonly month: string
  readonly state: "open" | "closed"
  readonly lines: number
  /** The sum of its lines: the change of the funds from opening to closing. */
  readonly fundsChangeMicros: Micros
  readonly openingMicros: Micros
  readonly closingMicros: Micros
  /** The last fact of the ledger in the bill. */
  readonly headRevision: number
  readonly head: string
}

/**
 * Writes a bill. The last chunk is sent only after the lines add up to the ledger's sums.
 *
 * @throws BillRejected: discard the chunks sent so far
 * @throws the signal's reason
 */
export async function writeBill(
  ports: BillPorts,
  request: BillRequest & { readonly format: BillFormat },
  target: BillTarget,
): Promise<BillSummary> {
  const bill = await openBill(ports, request)
  return writeOpenedBill(ports, bill, request.format, target)
}

/** Writes a bill that is opened already. @throws BillRejected, and the signal's reason */
export async function writeOpenedBill(
  ports: BillPorts,
  bill: OpenedBill,
  format: BillFormat,
  target: BillTarget,
): Promise<BillSummary> {
  const { head } = bill
  const spec: BillFormatSpec = BILL_FORMAT_SPECS[format]
  const writer = await spec.openWriter(bill, ports)
  const totals = openBillTotals()
  const begun = ports.pacer.elapsedMs()
  await sendChunk(target, writer.begin())
  for await (const { lines, revision } of readBillLines(ports.store, bill)) {
    target.signal.throwIfAborted()
    totals.add(lines)
    await sendChunk(target, writer.lines(lines))
    const done = { bill, revision, lines: totals.lines() }
    target.progress(progressText(done, ports.pacer.elapsedMs() - begun))
  }
  checkBillSums(head, totals)
  await sendChunk(target, await writer.end())
  const { companyId, month, state, openingMicros, closingMicros } = head
  return {
    companyId,
    month,
    state,
    lines: totals.lines(),
    fundsChangeMicros: totals.totalMicros(),
    openingMicros,
    closingMicros,
    headRevision: head.head.revision,
    head: head.head.hash,
  }
}

async function sendChunk(target: BillTarget, chunk: FileChunk): Promise<void> {
  target.signal.throwIfAborted()
  if (chunk.length > 0) await target.send(chunk)
}

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

// The lines come from the ledger's stream, and each fact's hash is recomputed, so a file matches
// the ledger whatever the read models hold.

/** Minimum number of lines in a page. */
const PAGE_LINES = 5_000

interface LinePage {
  readonly lines: readonly BillLine[]
  /** The revision of the last fact read. */
  readonly revision: number
}

/**
 * Yields the lines of a bill in pages; the store reads ahead while a page is written.
 *
 * @throws BillRejected if the stream was changed
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

/** Builds a function that converts facts to lines, in order. */
function billLineReader({ companyId, from }: BillHead): (stored: StoredEvent) => BillLine | null {
  // API calls count on their day and are charged the night after. Calls of the month before that
  // were charged in this one are remembered, so that their refund corrects this month's line.
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
