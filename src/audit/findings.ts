/** The rules of an audit, its findings, and the progress meter. */
import type { DecisionDifference } from "./ledger-replay.ts"
import type { Position, StoredEvent } from "../../adapters/eventstore/port.ts"

/** The rules, in the order they are reported. */
const RULES = [
  "hashes chain",
  "revisions have no gap",
  "each stream reads the same alone",
  "stored text has the form of its type",
  "every charge fits when decided again",
  "every fact is what its command decides",
  "no charge is refunded beyond its amount",
  "months close as their facts add up",
  "postings sum to zero",
  "checkpoints match the folded state",
  "no stream is missing",
  "signed heads belong to this history",
] as const

/** The name of a rule that stored events must follow. */
export type AuditRule = (typeof RULES)[number]

/** The stream of a discrepancy that is in no stream; its revision means nothing. */
export const WHOLE_HISTORY = ""

/** A place where stored events break a rule. */
export interface Discrepancy {
  readonly stream: string
  readonly revision: number
  readonly expected: string
  readonly found: string
}

export interface AuditCheck {
  readonly name: string
  readonly ok: boolean
  /** What was checked; of a failed check, the first discrepancy. */
  readonly detail: string
  /** The first discrepancy, if it is in a stream. */
  readonly discrepancy?: Discrepancy
}

/** The first discrepancy of each rule. */
export class AuditFindings {
  readonly #first = new Map<
    AuditRule,
    { readonly discrepancy: Discrepancy; readonly detail: string }
  >()

  /** Records a discrepancy. @param text describes it; default: the expected and found values */
  add(rule: AuditRule, discrepancy: Discrepancy, text?: string): void {
    if (this.#first.has(rule)) return
    const { stream, revision, expected, found } = discrepancy
    const where = stream === WHOLE_HISTORY ? "" : `${stream} revision ${revision}: `
    const detail = `${where}${text ?? `expected ${expected}, found ${found}`}`
    this.#first.set(rule, { discrepancy, detail })
  }

  /**
   * Returns the check of every rule.
   *
   * @param allText the detail of rules that cover all events and hold
   * @param ruleTexts the detail of rules that cover something else and hold
   */
  checks(
    allText: string,
    ruleTexts: Readonly<Partial<Record<AuditRule, string>>>,
  ): readonly AuditCheck[] {
    return RULES.map((name) => {
      const fault = this.#first.get(name)
      if (fault === undefined) return { name, ok: true, detail: ruleTexts[name] ?? allText }
      return { name, ok: false, ...fault }
    })
  }

  /** The first recorded discrepancy, with its rule; null if there is none. */
  first(): (Discrepancy & { readonly check: string }) | null {
    for (const [check, { discrepancy }] of this.#first) return { check, ...discrepancy }
    return null
  }
}

/** Describes the decided and the stored fact by their differing fields. */
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

/** Reports the progress of work. */
export interface ProgressMeter {
  /** Counts events that are done, up to a position; null if it is not known. */
  readonly advance: (position: Position | null, events: number) => void
}

/**
 * Reports the progress of reading all events up to a position, or of work that knows its share.
 * Positions grow unevenly with the events, so the remaining time is an estimate.
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
  let reportedAt = begun
  return {
    advance: (position, events) => {
      done += events
      const now = elapsedMs()
      if (now - reportedAt < REPORT_EVERY_MS) return
      reportedAt = now
      const share = typeof end === "function" ? end() : shareOf(position, end)
      progress(progressText(done, share, now - begun))
    },
  }
}

/**
 * Yields pages of events and reports each when it is done.
 *
 * @throws the signal's reason
 */
export async function* withProgress(
  pages: AsyncIterable<readonly StoredEvent[]>,
  meter: ProgressMeter,
  signal: AbortSignal,
): AsyncGenerator<readonly StoredEvent[]> {
  for await (const page of pages) {
    signal.throwIfAborted()
    yield page
    meter.advance(page.at(-1)?.position ?? null, page.length)
  }
}

function shareOf(position: Position | null, end: Position): number {
  if (position === null || end.commit <= 0n) return 0
  return Number(position.commit) / Number(end.commit)
}

/** `12,000 events, 48,000 a second, about 3 s left`. @param share that is done, from 0 to 1 */
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
