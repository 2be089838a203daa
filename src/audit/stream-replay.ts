/**
 * Replays one stream from its first fact: checks its text, decides ledger facts again, and checks
 * postings, the checkpoint and expected streams. State is kept only while the stream is read.
 */
import type { StoredEvent } from "../../adapters/eventstore/port.ts"
import { pendingChargeIds } from "../../domain/charging/ledger-views.ts"
import type { LedgerEvent } from "../../domain/charging/ledger-events.ts"
import { postingsOf } from "../../domain/charging/postings.ts"
import type { Fact } from "../../domain/kernel/decider.ts"
import type { AnyFact } from "../../domain/kernel/facts.ts"
import type { Codec } from "../../domain/kernel/event-format.ts"
import { categoryOf } from "../../domain/kernel/aggregate.ts"
import { NO_HASH, hashOfMetadata, readMetadata } from "../frame/kernel/envelope.ts"
import type { AuditedCheckpoint } from "../frame/operator/operation.ts"
import type { CheckpointedDecider, Streams } from "../frame/writer/streams.ts"
import { checkpointFault } from "./single-stream.ts"
import type { PendingChargeRef } from "./cross-checks.ts"
import type { DecisionDifference } from "./ledger-replay.ts"
import { LedgerReplay } from "./ledger-replay.ts"
import type { AuditFindings, Discrepancy, AuditRule } from "./findings.ts"
import { describeDifference } from "./findings.ts"
import type { ExpectedStreams, StreamAuditCounts } from "./expected-streams.ts"

const ENCODING_RULE = "stored text has the form of its type"
const DECISION_RULE = "every fact is what its command decides"
const ENCODING_DIFFERS = "encoding it again gives another text"

/** Where replays of streams record their results. */
export interface StreamAuditState {
  readonly streams: Streams
  readonly findings: AuditFindings
  readonly expectedStreams: ExpectedStreams
  readonly pendingCharges: PendingChargeRef[]
  readonly counts: Pick<StreamAuditCounts, "olderFormats">
}

interface DecodedEvent {
  readonly fact: Fact
  readonly command: string
  /** The text if its format is current; null if it is older. */
  readonly text: string | null
}

/** Replays one stream. */
export class StreamReplay {
  readonly #notes: StreamAuditState
  readonly #stream: string
  readonly #codec: Pick<Codec<AnyFact>, "decode" | "encode" | "version">
  readonly #checkpoint: AuditedCheckpoint | null
  readonly #folded: CheckpointedDecider | null
  /** Null for streams that are not ledgers. */
  readonly #ledger: LedgerReplay | null
  #state: unknown
  #hash = NO_HASH
  /** Hash of the event at the checkpoint; null until that event was read. */
  #hashOfCheckpoint: string | null = null
  #formerForms = 0
  /** Whether a fact could not be applied: the state is not folded further. */
  #isStuck = false

  constructor(notes: StreamAuditState, stream: string, checkpoint: AuditedCheckpoint | null) {
    const category = categoryOf(stream)
    this.#notes = notes
    this.#stream = stream
    this.#codec = codecFor(notes.streams, stream)
    this.#checkpoint = checkpoint
    this.#folded = notes.streams.checkpointedDecider(category)
    this.#ledger = category === "ledger" ? this.#newLedger() : null
    // State is folded only if there is a checkpoint to compare it with.
    this.#state = checkpoint === null ? null : (this.#folded?.decider.initial() ?? null)
  }

  apply(stored: StoredEvent): void {
    const { revision } = stored
    const previousHash = this.#hash
    const read = this.#read(stored)
    this.#hash = hashOfMetadata(stored.metadata) ?? this.#hash
    if (read === null) return
    const { fact, command, text } = read
    const isCheckpoint = this.#checkpoint?.revision === revision
    if (isCheckpoint) this.#hashOfCheckpoint = this.#hash
    this.#unlessStuck(revision, () => {
      const before = this.#ledger?.state ?? null
      this.#notes.expectedStreams.apply(this.#stream, revision, fact, before)
      if (this.#ledger !== null) {
        const sum = postingSum(fact as LedgerEvent)
        const difference = { expected: "0 micros", found: `${sum} micros` }
        if (sum !== 0) this.#note(revision, "postings sum to zero", difference)
        this.#ledger.apply(fact as LedgerEvent, { revision, command, previousHash, text })
      } else if (this.#folded !== null && this.#state !== null) {
        this.#state = this.#folded.decider.evolve(this.#state, fact)
      }
      // A ledger reports itself when it has folded the fact, because month closings wait.
      if (isCheckpoint && this.#ledger === null) this.#checkCheckpoint()
    })
  }

  /** Ends the replay. @param revision the stream's last */
  finish(revision: number): void {
    this.#notes.counts.olderFormats += this.#formerForms
    const ledger = this.#ledger
    if (ledger === null) return
    this.#unlessStuck(revision, () => ledger.finish())
    for (const chargeId of pendingChargeIds(ledger.state)) {
      this.#notes.pendingCharges.push({ chargeId, stream: this.#stream })
    }
  }

  #newLedger(): LedgerReplay {
    return new LedgerReplay({
      onDifference: (difference) => this.#differs(difference),
      onEncodingDifference: (revision, expected, found) => {
        this.#note(revision, ENCODING_RULE, { expected, found }, ENCODING_DIFFERS)
      },
      onFolded: (revision) => {
        if (this.#checkpoint?.revision === revision) this.#checkCheckpoint()
      },
    })
  }

  /** A fact that cannot be applied is a finding; the other checks continue. */
  #unlessStuck(revision: number, work: () => void): void {
    if (this.#isStuck) return
    try {
      work()
    } catch (error) {
      this.#isStuck = true
      const found = `one that it cannot: ${errorText(error)}`
      this.#note(revision, DECISION_RULE, { expected: "a fact that its state can apply", found })
    }
  }

  /** Decodes metadata and data; null if they cannot be read. */
  #read({ revision, type, data, metadata }: StoredEvent): DecodedEvent | null {
    try {
      const { version, command } = readMetadata(metadata)
      const fact = this.#codec.decode(type, version, data)
      const isCurrent = this.#codec.version(fact.type) === version
      if (!isCurrent) this.#formerForms += 1
      // A ledger's replay compares the encoding itself.
      if (isCurrent && this.#ledger === null) {
        const again = this.#codec.encode(fact)
        const difference = { expected: again, found: data }
        if (again !== data) this.#note(revision, ENCODING_RULE, difference, ENCODING_DIFFERS)
      }
      return { fact, command, text: isCurrent ? data : null }
    } catch (error) {
      const why = errorText(error)
      this.#note(
        revision,
        ENCODING_RULE,
        { expected: "text in the format of its type", found: why },
        why,
      )
      return null
    }
  }

  /** Compares the checkpoint with the state at its revision. */
  #checkCheckpoint(): void {
    const [saved, hash] = [this.#checkpoint, this.#hashOfCheckpoint]
    if (this.#folded === null || saved === null || hash === null) return
    const format = this.#folded.checkpoint
    const fault = checkpointFault(saved, format, this.#ledger?.state ?? this.#state, hash)
    if (fault !== null) this.#note(saved.revision, "checkpoints match the folded state", fault)
  }

  #differs(difference: DecisionDifference): void {
    const texts = describeDifference(difference)
    const detail = texts.expected.startsWith("refused: ") ? texts.expected : undefined
    this.#note(difference.revision, ruleOf(difference), texts, detail)
  }

  #note(
    revision: number,
    rule: AuditRule,
    { expected, found }: Pick<Discrepancy, "expected" | "found">,
    detail?: string,
  ): void {
    this.#notes.findings.add(rule, { stream: this.#stream, revision, expected, found }, detail)
  }
}

/** The codec of a stream. If no decider has such streams, its functions throw the error. */
function codecFor(
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

/** Sums a fact's postings, in micros. */
function postingSum(fact: LedgerEvent): number {
  return postingsOf(fact).reduce((total, posting) => total + posting.amountMicros, 0)
}

function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Names the rule that a differing decision breaks. */
function ruleOf({ expected, found }: DecisionDifference): AuditRule {
  const isOf = (type: string) => expected?.type === type || found?.type === type
  if (isOf("MonthClosed")) return "months close as their facts add up"
  const isRefused = expected !== null && expected.type.endsWith("Refused")
  if (found?.type === "ChargeReduced" && isRefused) {
    return "no charge is refunded beyond its amount"
  }
  if (isOf("Charged")) return "every charge fits when decided again"
  return DECISION_RULE
}
