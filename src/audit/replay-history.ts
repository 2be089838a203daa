/**
 * Replaying a history: every yes of each ledger is decided again, and every no at the ledger revision
 * that it names. With other rules: what those would have decided, each decision judged against what
 * really happened before it.
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

/** So many decisions of other rules are listed; all are counted. */
const MAX_LISTED = 10_000

/** Pages of events in the order of their streams. */
export type EventPages = AsyncIterable<readonly HistoryEvent[]>

/** What is replayed. */
export interface ReplayRequest {
  /** The events of all `refusals-…` streams, and those of all `ledger-…` streams. */
  readonly pages: (category: "refusals" | "ledger") => EventPages
  /** Rules to decide by instead of those that the history was made by; null for these. */
  readonly rules: LedgerRules | null
}

/** Where a decision comes out otherwise. */
export interface ReplayDifference {
  readonly stream: string
  /** Of a fact its own; of a no that of the ledger's last fact that it knew. */
  readonly revision: number
  /** The refused charge, of a no. */
  readonly chargeId: string | null
  readonly expected: DecisionDifference["expected"]
  readonly found: DecisionDifference["found"]
  /** What is stored (`-`) and what is decided (`+`), field by field. */
  readonly diff: readonly string[]
}

/** What a replay found. */
export interface ReplayResult {
  readonly ok: boolean
  readonly companies: number
  readonly facts: number
  /** Those that were kept in full, each decided again. */
  readonly refusals: number
  /** Those like them that were only counted. */
  readonly countedRefusals: number
  readonly differences: number
  readonly first: ReplayDifference | null
  /** With other rules: what comes out differently, the first ten thousand of them. */
  readonly others: readonly AlternativeDecision[]
  /** Noes that were decided with calls in hand which other rules cannot be told of. */
  readonly notJudged: number
}

/** Replays a history. @throws FormatFault, EnvelopeFault where an event cannot be read */
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
  /** Noes by the ledger revision that they were decided at, as they are stored. */
  readonly refusals: Map<number, HistoryEvent[]>
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
  #notJudged = 0
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
    const { refusals } = this.#company(event.stream)
    const { ledgerRevision } = fact
    const others = refusals.get(ledgerRevision)
    // As text: a decided no is large, and most wait for long until their revision comes.
    if (others === undefined) refusals.set(ledgerRevision, [event])
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
      for (const [revision, events] of company.refusals) {
        for (const event of events) this.#differs(company, this.#beyond(revision, event))
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
      notJudged: this.#notJudged,
    }
  }

  #company(stream: string): CompanyReplay {
    const companyId = companyOfStream(stream)
    if (companyId === null) throw new FormatFault(`the stream ${stream} is of no company`)
    const known = this.#companies.get(companyId)
    if (known !== undefined) return known
    const company: CompanyReplay = {
      stream: ledgerStreamOf(companyId).stream,
      ledger: new LedgerReplay({
        onDifference: (difference) => this.#differs(company, difference),
        onFolded: (revision) => this.#decideRefusals(company, revision),
      }),
      alternativeRules: this.#rules === null ? null : new AlternativeRules(this.#rules, companyId),
      refusals: new Map(),
      hash: NO_HASH,
    }
    this.#companies.set(companyId, company)
    return company
  }

  /** Decides the refusals of a revision again, on the state that its facts fold to. */
  #decideRefusals(company: CompanyReplay, revision: number): void {
    const events = company.refusals.get(revision)
    if (events === undefined) return
    company.refusals.delete(revision)
    for (const event of events) {
      const refused = decodeRefusal(event)
      if (company.alternativeRules !== null) {
        const judged = company.alternativeRules.judgeRefusal(refused)
        if (judged === "cannot be judged") this.#notJudged += 1
        else this.#list(judged)
        continue
      }
      const difference = refusalDifference(company.ledger.state, refused)
      if (difference !== null) this.#differs(company, difference)
    }
  }

  /** Judges a fact by other rules, and folds it: what happened, happened. */
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

  #differs({ stream }: CompanyReplay, difference: DecisionDifference): void {
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

  /** A no that names a revision which no ledger has. */
  #beyond(revision: number, event: HistoryEvent): DecisionDifference {
    return { revision, expected: null, found: decodeRefusal(event) }
  }
}

function decodeRefusal(event: HistoryEvent): ChargeRefused {
  return decodeStored(refusalCodec, event) as ChargeRefused
}

/** The lines of a difference; a null has none. */
function diffLines(before: object | null, after: object | null): readonly string[] {
  // Node marks lines of the first text alone with 1, and those of the second alone with -1.
  const marks = { "1": "-", "0": " ", "-1": "+" }
  return diff(linesOf(before), linesOf(after)).map(([side, line]) => `${marks[side]} ${line}`)
}

function linesOf(value: object | null): readonly string[] {
  if (value === null) return []
  // By the names of its fields: in which order they came to be says nothing.
  return JSON.stringify(JSON.parse(canonicalJson(value)), null, 2).split("\n")
}
