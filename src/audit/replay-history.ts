/**
 * Replays a history: decides every stored charge and refusal again, a refusal at the ledger
 * revision that it names. With other rules it lists the decisions that those rules would have made
 * differently, each judged on the facts stored before it.
 */
import { diff } from "node:util"
import { ledgerStreamOf } from "../../domain/charging/aggregates.ts"
import type { ChargeRefused, LedgerEvent } from "../../domain/charging/ledger-events.ts"
import { ledgerCodec } from "../../domain/charging/ledger-events.ts"
import { refusalCodec } from "../../domain/charging/refusals.ts"
import { FormatFault } from "../../domain/kernel/event-format.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { companyOfStream } from "../../domain/kernel/aggregate.ts"
import { NO_HASH, decodeStored, readMetadata, canonicalJson } from "../frame/kernel/envelope.ts"
import type { DecisionDifference } from "./ledger-replay.ts"
import { LedgerReplay, refusalDifference } from "./ledger-replay.ts"
import type { HistoryEvent } from "./history-file.ts"
import type { AlternativeDecision, LedgerRules } from "./alternative-rules.ts"
import { AlternativeRules } from "./alternative-rules.ts"

/** How many differing decisions are listed; all are counted. */
const MAX_LISTED = 10_000

/** Pages of events, each stream in its own order. */
export type HistoryPages = AsyncIterable<readonly HistoryEvent[]>

export interface ReplayRequest {
  /** The events of all `refusals-…` streams, and those of all `ledger-…` streams. */
  readonly pages: (category: "refusals" | "ledger") => HistoryPages
  /** Rules to decide by instead of the program's own; null for the program's. */
  readonly rules: LedgerRules | null
}

export interface ReplayDifference {
  readonly stream: string
  /** Revision of the fact; of a refusal, the last ledger revision it was decided on. */
  readonly revision: number
  /** Id of the refused charge; null for a fact. */
  readonly chargeId: string | null
  readonly expected: DecisionDifference["expected"]
  readonly found: DecisionDifference["found"]
  /** Stored (`-`) and decided (`+`) lines, field by field. */
  readonly diff: readonly string[]
}

export interface ReplayResult {
  readonly ok: boolean
  readonly companies: number
  readonly facts: number
  /** Refusals stored in full, each decided again. */
  readonly refusals: number
  /** Refusals that were only counted. */
  readonly countedRefusals: number
  readonly differences: number
  readonly first: ReplayDifference | null
  /** With other rules: the decisions that differ, at most ten thousand. */
  readonly others: readonly AlternativeDecision[]
  /** Refusals decided with pending calls in memory, which the other rules cannot take into account. */
  readonly undecidable: number
}

/**
 * Replays a history.
 *
 * @throws FormatFault, EnvelopeFault for an event that cannot be read
 */
export async function replayHistory({ pages, rules }: ReplayRequest): Promise<ReplayResult> {
  const replay = new HistoryReplay(rules)
  for await (const page of pages("refusals")) for (const event of page) replay.addRefusal(event)
  for await (const page of pages("ledger")) for (const event of page) replay.addFact(event)
  return replay.finish()
}

interface CompanyReplay {
  readonly stream: string
  readonly ledger: LedgerReplay
  readonly alternativeRules: AlternativeRules | null
  /** Refusals by the ledger revision they were decided on, as stored. */
  readonly refusalsByRevision: Map<number, HistoryEvent[]>
  hash: string
}

class HistoryReplay {
  readonly #rules: LedgerRules | null
  readonly #companies = new Map<CompanyId, CompanyReplay>()
  readonly #others: AlternativeDecision[] = []
  #facts = 0
  #refusals = 0
  #counted = 0
  #differences = 0
  #undecidable = 0
  #first: ReplayDifference | null = null

  constructor(rules: LedgerRules | null) {
    this.#rules = rules
  }

  addRefusal(event: HistoryEvent): void {
    const fact = decodeStored(refusalCodec, event)
    if (fact.type === "RefusalsCounted") {
      for (const { count } of fact.counters) this.#counted += count
      return
    }
    this.#refusals += 1
    const { refusalsByRevision } = this.#company(event.stream)
    const { ledgerRevision } = fact
    const others = refusalsByRevision.get(ledgerRevision)
    // Stored as text: a decoded refusal is large, and most wait long for their revision.
    if (others === undefined) refusalsByRevision.set(ledgerRevision, [event])
    else others.push(event)
  }

  addFact(event: HistoryEvent): void {
    const { command, version, hash } = readMetadata(event.metadata)
    const fact = ledgerCodec.decode(event.type, version, event.data)
    const company = this.#company(event.stream)
    if (event.revision === 0) this.#decideRefusals(company, -1)
    this.#facts += 1
    const { revision } = event
    if (company.alternativeRules === null) {
      const text = ledgerCodec.version(fact.type) === version ? event.data : null
      company.ledger.apply(fact, { revision, command, previousHash: company.hash, text })
    } else this.#judge(company, company.alternativeRules, fact, revision)
    company.hash = hash
  }

  finish(): ReplayResult {
    for (const company of this.#companies.values()) {
      if (company.alternativeRules === null) company.ledger.finish()
      for (const [revision, events] of company.refusalsByRevision) {
        for (const event of events)
          this.#recordDifference(company, this.#refusalAtMissingRevision(revision, event))
      }
    }
    const differences = this.#differences
    return {
      ok: this.#rules !== null || differences === 0,
      companies: this.#companies.size,
      facts: this.#facts,
      refusals: this.#refusals,
      countedRefusals: this.#counted,
      differences,
      first: this.#first,
      others: this.#others,
      undecidable: this.#undecidable,
    }
  }

  #company(stream: string): CompanyReplay {
    const companyId = companyOfStream(stream)
    if (companyId === null) throw new FormatFault(`${stream} belongs to no company`)
    const known = this.#companies.get(companyId)
    if (known !== undefined) return known
    const company: CompanyReplay = {
      stream: ledgerStreamOf(companyId).stream,
      ledger: new LedgerReplay({
        onDifference: (difference) => this.#recordDifference(company, difference),
        onFolded: (revision) => this.#decideRefusals(company, revision),
      }),
      alternativeRules: this.#rules === null ? null : new AlternativeRules(this.#rules, companyId),
      refusalsByRevision: new Map(),
      hash: NO_HASH,
    }
    this.#companies.set(companyId, company)
    return company
  }

  /** Decides the refusals of a revision again, on the state folded up to it. */
  #decideRefusals(company: CompanyReplay, revision: number): void {
    const events = company.refusalsByRevision.get(revision)
    if (events === undefined) return
    company.refusalsByRevision.delete(revision)
    for (const event of events) {
      const refused = decodeRefusal(event)
      if (company.alternativeRules !== null) {
        const judged = company.alternativeRules.judgeRefusal(refused)
        if (judged === "cannot be judged") this.#undecidable += 1
        else this.#list(judged)
        continue
      }
      const difference = refusalDifference(company.ledger.state, refused)
      if (difference !== null) this.#recordDifference(company, difference)
    }
  }

  /** Judges a fact by the other rules, and folds it in either case. */
  #judge(
    company: CompanyReplay,
    others: AlternativeRules,
    fact: LedgerEvent,
    revision: number,
  ): void {
    this.#list(others.judgeFact(fact, revision))
    others.apply(fact, revision)
    this.#decideRefusals(company, revision)
  }

  #list(decision: AlternativeDecision | null): void {
    if (decision === null) return
    this.#differences += 1
    if (this.#others.length < MAX_LISTED) this.#others.push(decision)
  }

  #recordDifference({ stream }: CompanyReplay, difference: DecisionDifference): void {
    this.#differences += 1
    const { revision, expected, found } = difference
    this.#first ??= {
      stream,
      revision,
      chargeId: found?.type === "ChargeRefused" ? found.chargeId : null,
      expected,
      found,
      diff: diffLines(found, expected),
    }
  }

  /** A refusal that names a revision which the ledger does not have. */
  #refusalAtMissingRevision(revision: number, event: HistoryEvent): DecisionDifference {
    return { revision, expected: null, found: decodeRefusal(event) }
  }
}

function decodeRefusal(event: HistoryEvent): ChargeRefused {
  return decodeStored(refusalCodec, event) as ChargeRefused
}

/** The lines of a difference; null has none. */
function diffLines(before: object | null, after: object | null): readonly string[] {
  // Node marks lines of the first text with 1, and those of the second with -1.
  const marks = { "1": "-", "0": " ", "-1": "+" }
  return diff(linesOf(before), linesOf(after)).map(([side, line]) => `${marks[side]} ${line}`)
}

function linesOf(value: object | null): readonly string[] {
  if (value === null) return []
  // Sorted by field name, because the order of fields means nothing.
  return JSON.stringify(JSON.parse(canonicalJson(value)), null, 2).split("\n")
}
