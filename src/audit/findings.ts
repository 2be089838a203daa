/** What an audit of stored events looks at, and the places where something is not as it should be. */
import type { DecisionDifference } from "./ledger-replay.ts"
import type { Position, StoredEvent } from "../../adapters/eventstore/port.ts"

/** The rules, in the order they are reported. */
const RULES = [
  "hashes chain",
  "revisions have no gap",
  "each stream is the same read alone",
  "stored text is the form of its type",
  "every charge fits when decided again",
  "every fact is what its command decides",
  "no charge is refunded beyond its amount",
  "months close as their facts add up",
  "postings sum to zero",
  "checkpoints are what folding gives",
  "no stream is missing",
  "signed heads are of this history",
] as const

/** The name of something that must hold of what is stored. */
export type AuditRule = (typeof RULES)[number]

/** The stream of a place that is none of a stream's: then its revision says nothing. */
export const WHOLE_HISTORY = ""

/** A place that is not as it should be. */
export interface Discrepancy {
  readonly stream: string
  readonly revision: number
  readonly expected: string
  readonly found: string
}

/** One thing an audit looked at. */
export interface AuditCheck {
  readonly name: string
  readonly ok: boolean
  /** What was found; where it is not in order, the first place. */
  readonly detail: string
  /** The first place, where it is one of a stream. */
  readonly place?: Discrepancy
}

/** The first place of each rule that does not hold. */
export class AuditFindings {
  readonly #first = new Map<AuditRule, { readonly place: Discrepancy; readonly detail: string }>()

  /** Notes a place; what is said of it is made of what is expected and found, unless it is given. */
  add(rule: AuditRule, place: Discrepancy, says?: string): void {
    if (this.#first.has(rule)) return
    const { stream, revision, expected, found } = place
    const where = stream === WHOLE_HISTORY ? "" : `${stream} revision ${revision}: `
    const detail = `${where}${says ?? `expected ${expected}, found ${found}`}`
    this.#first.set(rule, { place, detail })
  }

  /**
   * Every rule, and what was found of it.
   *
   * @param fine what is said where it holds
   * @param own the same of rules that look at something else than all events
   */
  checks(fine: string, own: Readonly<Partial<Record<AuditRule, string>>>): readonly AuditCheck[] {
    return RULES.map((name) => {
      const fault = this.#first.get(name)
      if (fault === undefined) return { name, ok: true, detail: own[name] ?? fine }
      return { name, ok: false, ...fault }
    })
  }

  /** The first place that was noted, with its rule; null where everything holds. */
  first(): (Discrepancy & { readonly check: string }) | null {
    for (const [check, { place }] of this.#first) return { check, ...place }
    return null
  }
}

/** What the rules decide and what is stored, in words: only the fields that differ. */
export function describeDifference({ expected, found }: DecisionDifference): {
  readonly expected: string
  readonly found: string
} {
  if (expected === null || found === null || expected.type !== found.type) {
    return { expected: outcomeName(expected), found: outcomeName(found) }
  }
  const [a, b] = [fieldsOf(expected), fieldsOf(found)]
  const names = new Set([...Object.keys(a), ...Object.keys(b)])
  const differing = [...names].filter((name) => JSON.stringify(a[name]) !== JSON.stringify(b[name]))
  const text = (of: Record<string, unknown>) =>
    `${expected.type} ${JSON.stringify(Object.fromEntries(differing.map((name) => [name, of[name]])))}`
  return { expected: text(a), found: text(b) }
}

function outcomeName(fact: DecisionDifference["expected"] | DecisionDifference["found"]): string {
  if (fact === null) return "nothing"
  return "code" in fact && fact.type !== "PurchaseFailed" ? `refused: ${fact.code}` : fact.type
}

const fieldsOf = (fact: object) => fact as Record<string, unknown>

const REPORT_EVERY_MS = 200

/** The pace of work. */
export interface ProgressMeter {
  /** Notes that so many more events are done, up to a place; null where that is not known. */
  readonly advance: (position: Position | null, events: number) => void
}

/**
 * Tells the pace of reading all events up to a place, or of work that says what share of it is done.
 * Places of a store grow with its events, though not evenly: what is left is an estimate.
 *
 * @param elapsedMs milliseconds since some moment, never going back
 */
export function openProgressMeter(
  end: Position | (() => number),
  progress: (message: string) => void,
  elapsedMs: () => number = () => performance.now(),
): ProgressMeter {
  const begun = elapsedMs()
  let done = 0
  let toldAt = begun
  return {
    advance: (position, events) => {
      done += events
      const now = elapsedMs()
      if (now - toldAt < REPORT_EVERY_MS) return
      toldAt = now
      const share = typeof end === "function" ? end() : shareOf(position, end)
      progress(progressText(done, share, now - begun))
    },
  }
}

/** Pages of events, each told of once it is done with. @throws the signal's reason */
export async function* withProgress(
  pages: AsyncIterable<readonly StoredEvent[]>,
  pace: ProgressMeter,
  signal: AbortSignal,
): AsyncGenerator<readonly StoredEvent[]> {
  for await (const page of pages) {
    signal.throwIfAborted()
    yield page
    pace.advance(page.at(-1)?.position ?? null, page.length)
  }
}

function shareOf(position: Position | null, end: Position): number {
  if (position === null || end.commit <= 0n) return 0
  return Number(position.commit) / Number(end.commit)
}

/** `12,000 events, 48,000 a second, about 3 s left`. @param share of the whole, from 0 to 1 */
function progressText(done: number, share: number, tookMs: number): string {
  const perSecond = Math.round((done * 1_000) / Math.max(1, tookMs))
  const text = `${formatCount(done)} events, ${formatCount(perSecond)} a second`
  if (share <= 0) return text
  const leftS = Math.ceil((tookMs * (1 / Math.min(1, share) - 1)) / 1_000)
  return `${text}, about ${leftS < 120 ? `${leftS} s` : `${Math.ceil(leftS / 60)} min`} left`
}

function formatCount(value: number): string {
  return value.toLocaleString("en-US")
}
