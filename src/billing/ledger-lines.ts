/**
 * The lines of a bill, read from the ledger's own stream: each fact's hash is computed again on the
 * way, from the one that the month before was sealed with to the one that the bill ends at. So a file
 * says what the ledger says, whatever the read models hold.
 */
import { ledgerOf } from "../../domain/charging/aggregates.ts"
import type { EventStore, StoredEvent } from "../../adapters/eventstore/port.ts"
import { FormatFault } from "../../domain/kernel/format.ts"
import type { BillLine } from "../../projections/charging/billing-lines.ts"
import { billLineOf } from "../../projections/charging/billing-lines.ts"
import { LINE_FACTS, lineOf } from "../../projections/charging/charge-lines.ts"
import type { BillHead } from "./bill.ts"
import { brokenChain, unreadable } from "./bill.ts"
import { chainedHash, factOf } from "./month-place.ts"
import type { OpenedBill } from "./open-bill.ts"

/** How many lines are given at a time. */
const PAGE_LINES = 5_000

/** Lines of a bill, and how far they come. */
export interface LinePage {
  readonly lines: readonly BillLine[]
  /** The revision of the last fact that was read. */
  readonly revision: number
}

/**
 * The lines of a bill, in pages. While one is written the store reads on.
 *
 * @throws BillRefused where the stream is not as it was sealed
 */
export async function* linesOfBill(
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
