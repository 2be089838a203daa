/** Writes a bill: what the ledger says of it, its lines page by page, and whether both agree. */
import type { Micros } from "../../domain/kernel/money.ts"
import type { Piece } from "./bill.ts"
import { openBillFold, settleBill } from "./bill.ts"
import type { BillForm, BillFormat } from "./formats.ts"
import { BILL_FORMS } from "./formats.ts"
import { linesOfBill } from "./ledger-lines.ts"
import type { BillAsked, BillPorts, OpenedBill } from "./open-bill.ts"
import { openBill } from "./open-bill.ts"

/** Where a bill is written to. */
export interface BillTarget {
  /** Takes a piece; resolves when there is room for the next. */
  readonly send: (piece: Piece) => Promise<void>
  readonly progress: (message: string) => void
  /** Aborted when nobody waits any more. */
  readonly signal: AbortSignal
}

/** What was written, for whoever asked for it. */
export interface BillSummary {
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
