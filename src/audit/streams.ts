/**
 * The audit of what is stored: every hash recomputed over the stored text, revisions without gaps,
 * text that is the form of its type, each fact of a ledger decided again at its revision, postings
 * that sum to zero, checkpoints that are what folding gives, no stream missing, and signed heads that
 * are of this history. Trusts nothing but the stored text.
 */
import type { StoredEvent } from "../../adapters/eventstore/port.ts"
import type { CheckpointForm, Fact } from "../../domain/kernel/decider.ts"
import type { LedgerEvent } from "../../domain/charging/ledger-events.ts"
import type { Ledger } from "../../domain/charging/ledger-state.ts"
import { openCharges } from "../../domain/charging/ledger-views.ts"
import { categoryOf, companyOf } from "../../domain/kernel/streams.ts"
import { NO_HASH, expectedHash, readMetadata } from "../frame/kernel/envelope.ts"
import type { Others } from "../frame/writer/own-streams.ts"
import { OthersCount } from "../frame/writer/own-streams.ts"
import { checkpointFault } from "./checkpoints.ts"
import type { Difference } from "./decisions.ts"
import { LedgerReplay } from "./decisions.ts"
import type { AuditCheck, Place, Rule } from "./findings.ts"
import { Findings, differenceTexts } from "./findings.ts"
import { HeadsHeld } from "./heads-held.ts"
import { MissingStreams, reaches } from "./missing-streams.ts"
import type { AuditPorts, AuditScope } from "./audit-scope.ts"
import { paced } from "./pace.ts"
import type { Seen } from "./seen-streams.ts"
import { codecIn, sumOf } from "./seen-streams.ts"
import type { Skipped } from "./skipped.ts"
import { lookedAt, skippedIn } from "./skipped.ts"
import { streamFault } from "./stream-alone.ts"

/** What the audit of the streams found. */
export interface StreamsAudit {
  readonly checks: readonly AuditCheck[]
  /** The first place that is not as it should be, in the order of reading. */
  readonly firstBroken: (Place & { readonly check: string }) | null
  readonly streams: number
  readonly events: number
  /** What other programs keep in the same store: it was left alone. */
  readonly others: Others
  readonly skipped: readonly Skipped[]
  /** The last hash of each company's ledger. */
  readonly heads: Readonly<Record<string, string>>
  readonly openCharges: readonly { readonly chargeId: string; readonly stream: string }[]
}

/** So many streams are read by themselves at once. */
const READ_AT_ONCE = 16
const FORM = "stored text is the form of its type"
const MISSPELT = "written again it differs"

/** What stored text says. */
interface Read {
  readonly fact: Fact
  readonly command: string
  /** Where it is of the form that is written now. */
  readonly text: string | null
}

/**
 * Reads all streams (of one company, or everything) in global order and checks them, then each by
 * itself, as it is read when something is decided on it: a server may hide there what it still shows
 * among all. Streams of other programs are left alone, and counted.
 */
export async function auditStreams(ports: AuditPorts, scope: AuditScope): Promise<StreamsAudit> {
  const { companyId, head, pace, signal } = scope
  const audit = new Audit(ports, scope, await HeadsHeld.load(ports, companyId, head))
  const pages =
    companyId === null
      ? ports.readEverything()
      : ports.store.readAll({ prefixes: ports.streams.prefixesOf(companyId) })
  for await (const page of paced(pages, pace, signal)) {
    for (const stored of page) {
      if (!ports.streams.isOwn(stored.stream)) {
        audit.others.take(stored)
        continue
      }
      if (companyId !== null && companyOf(stored.stream) !== companyId) continue
      // A wait for each event would be a good part of the work: only new streams take one.
      audit.take(audit.seen(stored.stream) ?? (await audit.firstSeen(stored.stream)), stored)
    }
  }
  await audit.readAlone(signal)
  return audit.end()
}

class Audit {
  readonly others = new OthersCount()
  readonly #ports: AuditPorts
  readonly #scope: AuditScope
  readonly #seen = new Map<string, Seen>()
  readonly #findings = new Findings()
  readonly #heads: HeadsHeld
  readonly #missing: MissingStreams
  #events = 0

  constructor(ports: AuditPorts, scope: AuditScope, heads: HeadsHeld) {
    this.#ports = ports
    this.#scope = scope
    this.#heads = heads
    this.#missing = new MissingStreams(ports.streamOfIntent, scope.companyId)
  }

  seen(stream: string): Seen | undefined {
    return this.#seen.get(stream)
  }

  take(known: Seen, stored: StoredEvent): void {
    this.#events += 1
    const { revision } = stored
    const before = known.hash
    if (revision !== known.revision + 1) {
      const place = { expected: `${known.revision + 1}`, found: `${revision}` }
      this.#note(known, revision, "revisions have no gap", place)
    }
    known.revision = revision
    const read = this.#checkText(known, stored)
    this.#heads.add(known.held, known.stream, revision, known.hash)
    if (read === null) return
    const { fact, command, text } = read
    const isCheckpoint = known.checkpoint?.revision === revision
    if (isCheckpoint) known.hashOfCheckpoint = known.hash
    this.#missing.take(known.stream, revision, fact, known.ledger?.state ?? null)
    if (known.ledger !== null) {
      const sum = sumOf(fact as LedgerEvent)
      const place = { expected: "0 micros", found: `${sum} micros` }
      if (sum !== 0) this.#note(known, revision, "postings sum to zero", place)
      known.ledger.take(fact as LedgerEvent, { revision, command, previousHash: before, text })
    } else if (known.folded !== null) {
      known.state = known.folded.decider.evolve(known.state as never, fact as never)
    }
    // A ledger says itself when it has folded the fact: closings of months wait for what they lead.
    if (isCheckpoint && known.ledger === null) this.#checkCheckpoint(known)
  }

  /** Reads each stream by itself, some at a time. */
  async readAlone(signal: AbortSignal): Promise<void> {
    const waiting = [...this.#seen.values()].values()
    const failing = new AbortController()
    // Where one could not read on, the others need not.
    const ends = AbortSignal.any([signal, failing.signal])
    const readOn = async (): Promise<void> => {
      for (const { stream, revision, hash, isBroken } of waiting) {
        if (isBroken) continue
        ends.throwIfAborted()
        const place = await streamFault(this.#ports.store, stream, { revision, hash })
        if (place !== null) this.#findings.add("each stream is the same read alone", place)
      }
    }
    try {
      await Promise.all(Array.from({ length: READ_AT_ONCE }, readOn))
    } finally {
      failing.abort()
    }
  }

  async end(): Promise<StreamsAudit> {
    for (const known of this.#seen.values()) {
      known.ledger?.end()
      await this.#checkLater(known)
    }
    const lastOf = (stream: string) => this.#seen.get(stream)?.revision ?? null
    await this.#missing.check(this.#ports, lastOf, (place) => {
      this.#findings.add("no stream is missing", place)
    })
    this.#heads.end((place) => this.#findings.add("signed heads are of this history", place))
    const seen = [...this.#seen.values()]
    const ledgers = seen.filter(({ ledger }) => ledger !== null)
    return {
      checks: this.#findings.checks(`${this.#events} events`, lookedAt(seen)),
      firstBroken: this.#findings.first(),
      streams: this.#seen.size,
      others: this.others.counted,
      skipped: skippedIn(seen, this.#scope.companyId),
      events: this.#events,
      heads: Object.fromEntries(ledgers.map(({ stream, hash }) => [stream, hash])),
      openCharges: ledgers.flatMap(({ stream, ledger }) =>
        openCharges(ledger?.state as Ledger).map((chargeId) => ({ chargeId, stream })),
      ),
    }
  }

  async firstSeen(stream: string): Promise<Seen> {
    const category = categoryOf(stream)
    const isLedger = category === "ledger"
    const folded = this.#ports.streams.folded(category)
    const known: Seen = {
      stream,
      category,
      codec: codecIn(this.#ports.streams, stream),
      revision: -1,
      hash: NO_HASH,
      isBroken: false,
      formerForms: 0,
      checkpoint: folded === null ? null : await this.#ports.checkpointOf(stream),
      held: this.#heads.of(stream),
      hashOfCheckpoint: null,
      ledger: isLedger ? this.#ledgerOf(stream) : null,
      folded,
      state: isLedger ? null : (folded?.decider.initial() ?? null),
    }
    this.#seen.set(stream, known)
    return known
  }

  #ledgerOf(stream: string): LedgerReplay {
    return new LedgerReplay({
      differs: (difference) => this.#differs(stream, difference),
      misspelt: (revision, expected, found) => {
        this.#findings.add(FORM, { stream, revision, expected, found }, MISSPELT)
      },
      folded: (revision) => {
        const known = this.#seen.get(stream)
        if (known?.checkpoint?.revision === revision) this.#checkCheckpoint(known)
      },
    })
  }

  /** Checks hash, metadata and data as they are stored; null where they cannot be read. */
  #checkText(known: Seen, stored: StoredEvent): Read | null {
    const { revision } = stored
    const expected = expectedHash(stored, known.hash)
    // Where no hash can be read, the next event is measured by what this one should carry.
    known.hash = expected
    try {
      const { hash, version, command } = readMetadata(stored.metadata)
      if (hash !== expected) {
        this.#note(known, revision, "hashes chain", { expected, found: hash })
      }
      known.hash = hash
      const { codec } = known
      const fact = codec.decode(stored.type, version, stored.data)
      const isCurrent = codec.version(fact.type) === version
      if (!isCurrent) known.formerForms += 1
      // What a ledger decides again is written again there.
      if (isCurrent && known.ledger === null) {
        const again = codec.encode(fact)
        const place = { expected: again, found: stored.data }
        if (again !== stored.data) this.#note(known, revision, FORM, place, MISSPELT)
      }
      return { fact, command, text: isCurrent ? stored.data : null }
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      this.#note(known, revision, FORM, { expected: "text of its form", found: why }, why)
      return null
    }
  }

  /** Compares a stream's checkpoint with the state at its revision. */
  #checkCheckpoint({ stream, checkpoint, hashOfCheckpoint, ledger, state, folded }: Seen): void {
    if (folded === null || checkpoint === null || hashOfCheckpoint === null) return
    // Its own states are what it saves.
    const form = folded.checkpoint as unknown as CheckpointForm<unknown>
    const fault = checkpointFault(checkpoint, form, ledger?.state ?? state, hashOfCheckpoint)
    if (fault === null) return
    const { revision } = checkpoint
    this.#findings.add("checkpoints are what folding gives", { stream, revision, ...fault })
  }

  /** A checkpoint of later than what was read: what was cut off is remembered by it. */
  async #checkLater({ stream, revision, checkpoint }: Seen): Promise<void> {
    if (checkpoint === null || checkpoint.revision <= revision) return
    // What came while this was reading may be in a checkpoint already.
    if (await reaches(this.#ports, stream, checkpoint.revision)) return
    const says = `its checkpoint is of revision ${checkpoint.revision}: what came after is gone`
    const place = { expected: `revision ${checkpoint.revision}`, found: "nothing" }
    this.#findings.add("checkpoints are what folding gives", { stream, revision, ...place }, says)
  }

  #differs(stream: string, difference: Difference): void {
    const { revision } = difference
    const texts = differenceTexts(difference)
    const says = texts.expected.startsWith("refused: ") ? texts.expected : undefined
    this.#findings.add(ruleOf(difference), { stream, revision, ...texts }, says)
  }

  #note(
    known: Seen,
    revision: number,
    rule: Rule,
    { expected, found }: Pick<Place, "expected" | "found">,
    says?: string,
  ): void {
    if (OF_CHAINS.has(rule)) known.isBroken = true
    this.#findings.add(rule, { stream: known.stream, revision, expected, found }, says)
  }
}

const OF_CHAINS: ReadonlySet<Rule> = new Set(["hashes chain", "revisions have no gap"])
/** The rule that a decision breaks which comes out otherwise. */
function ruleOf({ expected, found }: Difference): Rule {
  const isOf = (type: string) => expected?.type === type || found?.type === type
  if (isOf("MonthClosed")) return "months close as their facts add up"
  const isRefused = expected !== null && expected.type.endsWith("Refused")
  if (found?.type === "ChargeGivenBack" && isRefused)
    return "no charge is refunded beyond its amount"
  if (isOf("Charged")) return "every charge fits when decided again"
  return "every fact is what its command decides"
}
