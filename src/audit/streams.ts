/**
 * The audit of what is stored: every hash recomputed over the stored text, revisions without gaps,
 * text that is the form of its type, each fact of a ledger decided again at its revision, postings
 * that sum to zero, checkpoints that are what folding gives, no stream missing, and signed heads that
 * are of this history. Trusts nothing but the stored text.
 */
import type { StoredEvent } from "../../adapters/eventstore/port.ts"
import type { CheckpointForm, Decider, Fact } from "../../domain/kernel/decider.ts"
import type { LedgerEvent } from "../../domain/charging/ledger-events.ts"
import type { Ledger } from "../../domain/charging/ledger-state.ts"
import { openCharges } from "../../domain/charging/ledger-views.ts"
import { postingsOf } from "../../domain/charging/postings.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { categoryOf, companyOf } from "../../domain/kernel/streams.ts"
import { APP, LEDGER, RECIPIENT, codecOfStream, prefixesOfCompany } from "../aggregates.ts"
import type { AdminPorts, KeptCheckpoint } from "../admin/operation.ts"
import { NO_HASH, expectedHash, readMetadata } from "../envelope.ts"
import { checkpointFault } from "./checkpoints.ts"
import type { Difference } from "./decisions.ts"
import { LedgerReplay } from "./decisions.ts"
import type { AuditCheck, Place, Rule } from "./findings.ts"
import { Findings, differenceTexts } from "./findings.ts"
import { HeadsHeld } from "./heads-held.ts"
import { MissingStreams } from "./missing-streams.ts"
import type { Pace } from "./pace.ts"

/** What the audit of the streams found. */
export interface StreamsAudit {
  readonly checks: readonly AuditCheck[]
  /** The first place that is not as it should be, in the order of reading. */
  readonly firstBroken: (Place & { readonly check: string }) | null
  readonly streams: number
  readonly events: number
  /** The last hash of each company's ledger. */
  readonly heads: Readonly<Record<string, string>>
  readonly openCharges: readonly { readonly chargeId: string; readonly stream: string }[]
}

interface Seen {
  readonly stream: string
  readonly category: string
  revision: number
  hash: string
  readonly checkpoint: KeptCheckpoint | null
  /** Decides a ledger again; null for other streams. */
  readonly ledger: LedgerReplay | null
  /** Folded where there is a checkpoint to compare. */
  state: unknown
}

interface Folded {
  readonly decider: Decider<never, never, never, never>
  readonly checkpoint: CheckpointForm<never>
}

/** Categories beside the ledger that have checkpoints. */
const FOLDED: Readonly<Record<string, Folded>> = {
  app: APP as unknown as Folded,
  recipient: RECIPIENT as unknown as Folded,
}

/** What is audited, and how its operator hears of it. */
export interface AuditScope {
  /** Null for everything. */
  readonly companyId: CompanyId | null
  /** A hash that an auditor noted: of an event, or the root of a signed head; null for none. */
  readonly head: string | null
  readonly pace: Pace
  readonly signal: AbortSignal
}

/** What an audit reads beside the events. */
export interface AuditPorts extends Pick<AdminPorts, "store" | "checkpointOf"> {
  readonly treeHeads: Pick<AdminPorts["treeHeads"], "list">
  readonly work: Pick<AdminPorts["work"], "names">
}

/** Reads all streams (of one company, or everything) in global order and checks them. */
export async function auditStreams(ports: AuditPorts, scope: AuditScope): Promise<StreamsAudit> {
  const { companyId, head, pace, signal } = scope
  const audit = new Audit(ports, scope, await HeadsHeld.load(ports, companyId, head))
  const prefixes = companyId === null ? {} : { prefixes: prefixesOfCompany(companyId) }
  for await (const page of ports.store.readAll(prefixes)) {
    signal.throwIfAborted()
    for (const stored of page) {
      if (companyId !== null && companyOf(stored.stream) !== companyId) continue
      await audit.take(stored)
    }
    pace.at(page.at(-1)?.position ?? null, page.length)
  }
  return audit.end()
}

class Audit {
  readonly #ports: AuditPorts
  readonly #seen = new Map<string, Seen>()
  readonly #findings = new Findings()
  readonly #heads: HeadsHeld
  readonly #missing: MissingStreams
  #events = 0

  constructor(ports: AuditPorts, { companyId }: AuditScope, heads: HeadsHeld) {
    this.#ports = ports
    this.#heads = heads
    this.#missing = new MissingStreams(companyId)
  }

  async take(stored: StoredEvent): Promise<void> {
    const known = this.#seen.get(stored.stream) ?? (await this.#firstSeen(stored.stream))
    this.#events += 1
    const { revision } = stored
    const before = known.hash
    if (revision !== known.revision + 1) {
      const place = { expected: `${known.revision + 1}`, found: `${revision}` }
      this.#note(known, revision, "revisions have no gap", place)
    }
    known.revision = revision
    const read = this.#checkText(known, stored)
    this.#heads.add(stored, known.hash)
    if (read === null) return
    const { fact, command } = read
    this.#missing.take(known.stream, revision, fact, known.ledger?.state ?? null)
    if (known.ledger !== null) {
      const sum = sumOf(fact as LedgerEvent)
      const place = { expected: "0 micros", found: `${sum} micros` }
      if (sum !== 0) this.#note(known, revision, "postings sum to zero", place)
      known.ledger.take(fact as LedgerEvent, { revision, command, previousHash: before })
    } else if (known.category in FOLDED) {
      const { decider } = FOLDED[known.category] as Folded
      known.state = decider.evolve(known.state as never, fact as never)
    }
    if (known.checkpoint?.revision === revision) this.#checkCheckpoint(known, known.checkpoint)
  }

  async end(): Promise<StreamsAudit> {
    for (const known of this.#seen.values()) {
      known.ledger?.end()
      await this.#checkLater(known)
    }
    const seen = (stream: string) => this.#seen.get(stream)?.revision ?? null
    await this.#missing.check(this.#ports, seen, (place) => {
      this.#findings.add("no stream is missing", place)
    })
    this.#heads.end((place) => this.#findings.add("signed heads are of this history", place))
    const ledgers = [...this.#seen.values()].filter(({ ledger }) => ledger !== null)
    return {
      checks: this.#findings.checks(`${this.#events} events`),
      firstBroken: this.#findings.first(),
      streams: this.#seen.size,
      events: this.#events,
      heads: Object.fromEntries(ledgers.map(({ stream, hash }) => [stream, hash])),
      openCharges: ledgers.flatMap(({ stream, ledger }) =>
        openCharges(ledger?.state as Ledger).map((chargeId) => ({ chargeId, stream })),
      ),
    }
  }

  async #firstSeen(stream: string): Promise<Seen> {
    const category = categoryOf(stream)
    const isLedger = category === "ledger"
    const hasCheckpoint = isLedger || category in FOLDED
    const known: Seen = {
      stream,
      category,
      revision: -1,
      hash: NO_HASH,
      checkpoint: hasCheckpoint ? await this.#ports.checkpointOf(stream) : null,
      ledger: isLedger ? new LedgerReplay((one) => this.#differs(stream, one)) : null,
      state: FOLDED[category]?.decider.initial(),
    }
    this.#seen.set(stream, known)
    return known
  }

  /** Checks hash, metadata and data as they are stored; null where they cannot be read. */
  #checkText(known: Seen, stored: StoredEvent): { fact: Fact; command: string } | null {
    const { revision } = stored
    const expected = expectedHash(stored, known.hash)
    // Where no hash can be read, the next event is measured by what this one should carry.
    known.hash = expected
    const rule = "stored text is the form of its type"
    try {
      const { hash, version, command } = readMetadata(stored.metadata)
      if (hash !== expected) {
        this.#note(known, revision, "hashes chain", { expected, found: hash })
      }
      known.hash = hash
      const codec = codecOfStream(stored.stream)
      const fact = codec.decode(stored.type, version, stored.data)
      if (codec.version(fact.type) === version) {
        const again = codec.encode(fact)
        const place = { expected: again, found: stored.data }
        if (again !== stored.data) {
          this.#note(known, revision, rule, place, "written again it differs")
        }
      }
      return { fact, command }
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      this.#note(known, revision, rule, { expected: "text of its form", found: why }, why)
      return null
    }
  }

  #checkCheckpoint({ stream, revision, ledger, state, category }: Seen, kept: KeptCheckpoint) {
    const form = category === "ledger" ? LEDGER.checkpoint : FOLDED[category]?.checkpoint
    const fault = checkpointFault(kept, form as CheckpointForm<unknown>, ledger?.state ?? state)
    if (fault === null) return
    const place = { stream, revision, expected: "what folding gives", found: fault }
    this.#findings.add("checkpoints are what folding gives", place, fault)
  }

  /** A checkpoint of later than what was read: what was cut off is remembered by it. */
  async #checkLater({ stream, revision, checkpoint }: Seen): Promise<void> {
    if (checkpoint === null || checkpoint.revision <= revision) return
    // What came while this was reading may be in a checkpoint already.
    if (await holds(this.#ports, stream, checkpoint.revision)) return
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
    { stream }: Seen,
    revision: number,
    rule: Rule,
    { expected, found }: Pick<Place, "expected" | "found">,
    says?: string,
  ): void {
    this.#findings.add(rule, { stream, revision, expected, found }, says)
  }
}

/** Whether a stream reaches this revision by now. */
async function holds(ports: AuditPorts, stream: string, revision: number): Promise<boolean> {
  for await (const page of ports.store.read(stream, { from: revision, limit: 1 })) {
    if (page.length > 0) return true
  }
  return false
}

function sumOf(fact: LedgerEvent): number {
  return postingsOf(fact).reduce((total, posting) => total + posting.amountMicros, 0)
}

/** The rule that a decision breaks which comes out otherwise. */
function ruleOf({ expected, found }: Difference): Rule {
  const isOf = (type: string) => expected?.type === type || found?.type === type
  if (isOf("MonthClosed")) return "months close as their facts add up"
  if (isOf("Charged")) return "every charge fits when decided again"
  return "every fact is what its command decides"
}
