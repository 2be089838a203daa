/**
 * One stream, decided again from its first fact on: its text, each fact of a ledger by the command that
 * it came from, postings, the checkpoint, and the streams that its facts promise. Its state lives only
 * while it is read.
 */
import type { StoredEvent } from "../../adapters/eventstore/port.ts"
import { openCharges } from "../../domain/charging/ledger-views.ts"
import type { LedgerEvent } from "../../domain/charging/ledger-formats.ts"
import { postingsOf } from "../../domain/charging/postings.ts"
import type { Fact } from "../../domain/kernel/decider.ts"
import type { AnyFact } from "../../domain/kernel/facts.ts"
import type { Codec } from "../../domain/kernel/format.ts"
import { categoryOf } from "../../domain/kernel/aggregate.ts"
import { NO_HASH, hashIn, readMetadata } from "../frame/kernel/envelope.ts"
import type { KeptCheckpoint } from "../frame/operator/operation.ts"
import type { Folded, Streams } from "../frame/writer/streams.ts"
import { checkpointFault } from "./stream-alone.ts"
import type { OpenCharge } from "./checks.ts"
import type { Difference } from "./decisions.ts"
import { LedgerReplay } from "./decisions.ts"
import type { Findings, Place, Rule } from "./findings.ts"
import { differenceTexts } from "./findings.ts"
import type { MissingStreams, StreamCounts } from "./missing-streams.ts"

const FORM = "stored text is the form of its type"
const DECISION = "every fact is what its command decides"
const MISSPELT = "written again it differs"

/** What the replays of streams are noted in. */
export interface ReplayNotes {
  readonly streams: Streams
  readonly findings: Findings
  readonly missing: MissingStreams
  readonly openCharges: OpenCharge[]
  readonly counts: Pick<StreamCounts, "formerForms">
}

/** What stored text says. */
interface Read {
  readonly fact: Fact
  readonly command: string
  /** Where it is of the form that is written now. */
  readonly text: string | null
}

/** Decides one stream again. */
export class StreamReplay {
  readonly #notes: ReplayNotes
  readonly #stream: string
  readonly #codec: Pick<Codec<AnyFact>, "decode" | "encode" | "version">
  readonly #checkpoint: KeptCheckpoint | null
  readonly #folded: Folded | null
  /** Null for streams that are no ledgers. */
  readonly #ledger: LedgerReplay | null
  #state: unknown
  #hash = NO_HASH
  /** The hash of the event that the checkpoint is of; null until that was read. */
  #hashOfCheckpoint: string | null = null
  #formerForms = 0
  /** Whether a fact could not be taken: no state is made beyond it. */
  #isStuck = false

  constructor(notes: ReplayNotes, stream: string, checkpoint: KeptCheckpoint | null) {
    const category = categoryOf(stream)
    this.#notes = notes
    this.#stream = stream
    this.#codec = codecIn(notes.streams, stream)
    this.#checkpoint = checkpoint
    this.#folded = notes.streams.folded(category)
    this.#ledger = category === "ledger" ? this.#newLedger() : null
    // A state is only made where there is something to compare it with.
    this.#state = checkpoint === null ? null : (this.#folded?.decider.initial() ?? null)
  }

  /** Takes the next event. */
  take(stored: StoredEvent): void {
    const { revision } = stored
    const previousHash = this.#hash
    const read = this.#read(stored)
    this.#hash = hashIn(stored.metadata) ?? this.#hash
    if (read === null) return
    const { fact, command, text } = read
    const isCheckpoint = this.#checkpoint?.revision === revision
    if (isCheckpoint) this.#hashOfCheckpoint = this.#hash
    this.#unlessStuck(revision, () => {
      const before = this.#ledger?.state ?? null
      this.#notes.missing.take(this.#stream, revision, fact, before)
      if (this.#ledger !== null) {
        const sum = sumOf(fact as LedgerEvent)
        const place = { expected: "0 micros", found: `${sum} micros` }
        if (sum !== 0) this.#note(revision, "postings sum to zero", place)
        this.#ledger.take(fact as LedgerEvent, { revision, command, previousHash, text })
      } else if (this.#folded !== null && this.#state !== null) {
        this.#state = this.#folded.decider.evolve(this.#state, fact)
      }
      // A ledger says itself when it has folded the fact: closings of months wait for what they lead.
      if (isCheckpoint && this.#ledger === null) this.#checkCheckpoint()
    })
  }

  /** Takes the end of the stream. @param revision its last */
  end(revision: number): void {
    this.#notes.counts.formerForms += this.#formerForms
    const ledger = this.#ledger
    if (ledger === null) return
    this.#unlessStuck(revision, () => ledger.end())
    for (const chargeId of openCharges(ledger.state)) {
      this.#notes.openCharges.push({ chargeId, stream: this.#stream })
    }
  }

  #newLedger(): LedgerReplay {
    return new LedgerReplay({
      differs: (difference) => this.#differs(difference),
      misspelt: (revision, expected, found) => {
        this.#note(revision, FORM, { expected, found }, MISSPELT)
      },
      folded: (revision) => {
        if (this.#checkpoint?.revision === revision) this.#checkCheckpoint()
      },
    })
  }

  /** A state that cannot take a fact is a finding, and ends no other check. */
  #unlessStuck(revision: number, work: () => void): void {
    if (this.#isStuck) return
    try {
      work()
    } catch (error) {
      this.#isStuck = true
      const found = `one that it cannot: ${wordsOf(error)}`
      this.#note(revision, DECISION, { expected: "a fact that its state can take", found })
    }
  }

  /** Checks metadata and data as they are stored; null where they cannot be read. */
  #read({ revision, type, data, metadata }: StoredEvent): Read | null {
    try {
      const { version, command } = readMetadata(metadata)
      const fact = this.#codec.decode(type, version, data)
      const isCurrent = this.#codec.version(fact.type) === version
      if (!isCurrent) this.#formerForms += 1
      // What a ledger decides again is written again there.
      if (isCurrent && this.#ledger === null) {
        const again = this.#codec.encode(fact)
        const place = { expected: again, found: data }
        if (again !== data) this.#note(revision, FORM, place, MISSPELT)
      }
      return { fact, command, text: isCurrent ? data : null }
    } catch (error) {
      const why = wordsOf(error)
      this.#note(revision, FORM, { expected: "text of its form", found: why }, why)
      return null
    }
  }

  /** Compares the checkpoint with the state at its revision. */
  #checkCheckpoint(): void {
    const [kept, hash] = [this.#checkpoint, this.#hashOfCheckpoint]
    if (this.#folded === null || kept === null || hash === null) return
    const form = this.#folded.checkpoint
    const fault = checkpointFault(kept, form, this.#ledger?.state ?? this.#state, hash)
    if (fault !== null) this.#note(kept.revision, "checkpoints are what folding gives", fault)
  }

  #differs(difference: Difference): void {
    const texts = differenceTexts(difference)
    const says = texts.expected.startsWith("refused: ") ? texts.expected : undefined
    this.#note(difference.revision, ruleOf(difference), texts, says)
  }

  #note(
    revision: number,
    rule: Rule,
    { expected, found }: Pick<Place, "expected" | "found">,
    says?: string,
  ): void {
    this.#notes.findings.add(rule, { stream: this.#stream, revision, expected, found }, says)
  }
}

/** The codec of a stream; where no decider has such streams, reading by it says so. */
function codecIn(
  streams: Streams,
  stream: string,
): Pick<Codec<AnyFact>, "decode" | "encode" | "version"> {
  try {
    return streams.codecOf(stream)
  } catch (error) {
    const refuse = (): never => {
      throw error
    }
    return { decode: refuse, encode: refuse, version: refuse }
  }
}

/** What a fact's postings come to, micros: nothing. */
function sumOf(fact: LedgerEvent): number {
  return postingsOf(fact).reduce((total, posting) => total + posting.amountMicros, 0)
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** The rule that a decision breaks which comes out otherwise. */
function ruleOf({ expected, found }: Difference): Rule {
  const isOf = (type: string) => expected?.type === type || found?.type === type
  if (isOf("MonthClosed")) return "months close as their facts add up"
  const isRefused = expected !== null && expected.type.endsWith("Refused")
  if (found?.type === "ChargeReduced" && isRefused) {
    return "no charge is refunded beyond its amount"
  }
  if (isOf("Charged")) return "every charge fits when decided again"
  return DECISION
}
