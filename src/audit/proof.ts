/**
 * Builds the proof of one decision: its event, its inputs, and the path from each event to the signed
 * head. It is one JSON file that can be checked with the public key alone (docs/verify.md).
 */
import { ledgerStreamOf, refusalsStreamOf } from "../../domain/charging/aggregates.ts"
import type { StoredEvent } from "../../adapters/eventstore/port.ts"
import type { SignedTreeHead } from "../../adapters/postgres/tree-heads/port.ts"
import type { Charged } from "../../domain/charging/ledger-events.ts"
import { ledgerCodec } from "../../domain/charging/ledger-events.ts"
import { accountOf, applicableLimits } from "../../domain/charging/ledger-views.ts"
import { ledgerDecider } from "../../domain/charging/ledger.ts"
import type { LimitReading, Spender } from "../../domain/charging/limits.ts"
import { refusalCodec } from "../../domain/charging/refusals.ts"
import type { ChargeId, CompanyId } from "../../domain/kernel/ids.ts"
import { NO_HASH, decodeStored } from "../frame/kernel/envelope.ts"
import { eventsUpTo, orderedHeadFields } from "./history-file.ts"
import type { HistoryExport } from "./history-file.ts"
import type { Proof, ProvenEvent } from "./check-proof.ts"
import { MerkleTree, leafHashOf } from "./merkle.ts"
import { inputsFromRefusal } from "./proof-inputs.ts"
import type { DecisionInputs } from "./proof-inputs.ts"
import { withProgress } from "./findings.ts"
import { GrowingTree, requireHashIn } from "./trees.ts"

const HASH_BYTES = 32

/** An event of a proof without its inclusion path. */
type UnprovenEvent = Omit<ProvenEvent, "inclusion">

/** The input for building a proof. */
export interface ProofRequest extends Pick<
  HistoryExport,
  "store" | "streams" | "to" | "generation" | "sign" | "meter" | "signal"
> {
  readonly companyId: CompanyId
  readonly chargeId: ChargeId
  /** Earlier signed heads, from which the proof shows consistency. */
  readonly formerHeads: readonly SignedTreeHead[]
}

/** Builds the proof of a charge or of its refusal; null if the company has neither with this id. */
export async function proveCharge(request: ProofRequest): Promise<Proof | null> {
  const { companyId, chargeId, formerHeads, sign, meter, signal } = request
  const reading = new ProofReader(companyId, chargeId)
  for await (const page of withProgress(eventsUpTo(request), meter, signal)) {
    for (const stored of page) reading.addEvent(stored)
  }
  const { found, tree, growingTree } = reading
  if (found === null) return null
  const proven = (text: UnprovenEvent): ProvenEvent => ({
    ...text,
    inclusion: tree().inclusion(text.index),
  })
  const whole = tree()
  const head = await sign(growingTree.head(request.generation))
  const { inputs, event, facts, later } = found
  return {
    companyLedger: "proof",
    form: 1,
    company: companyId,
    chargeId,
    event: proven(event),
    inputs: { ...inputs, events: facts.map(proven) },
    later: later.map(proven),
    consistency: formerHeads
      .filter(({ size }) => size > 0 && size <= head.size)
      .map((from) => ({ from: orderedHeadFields(from), path: whole.consistency(from.size) })),
    head: orderedHeadFields(head),
  }
}

interface FoundDecision {
  readonly event: UnprovenEvent
  readonly inputs: DecisionInputs
  readonly facts: readonly UnprovenEvent[]
  readonly later: UnprovenEvent[]
}

/** Reads a company's events once and collects those that a proof needs. */
class ProofReader {
  readonly growingTree: GrowingTree
  found: FoundDecision | null = null
  readonly #companyId: CompanyId
  readonly #chargeIdField: string
  readonly #chargeIdText: string
  #leaves = Buffer.alloc(1024 * HASH_BYTES)
  #state = ledgerDecider.initial()
  #tree: MerkleTree | null = null
  readonly #hashes = new Map<string, string>()
  /** The newest fact of each limit, of the terms, and of the ledger. */
  readonly #latestFacts = new Map<string, UnprovenEvent>()

  constructor(companyId: CompanyId, chargeId: ChargeId) {
    this.#companyId = companyId
    this.growingTree = new GrowingTree(companyId)
    this.#chargeIdText = JSON.stringify(chargeId)
    this.#chargeIdField = `"chargeId":${this.#chargeIdText}`
  }

  /** The tree over all events read so far. */
  readonly tree = (): MerkleTree => {
    this.#tree ??= new MerkleTree(this.#leaves.subarray(0, this.growingTree.edge.size * HASH_BYTES))
    return this.#tree
  }

  addEvent(stored: StoredEvent): void {
    const { stream, data } = stored
    const hash = requireHashIn(stored.metadata)
    const previousHash = this.#hashes.get(stream) ?? NO_HASH
    this.#hashes.set(stream, hash)
    const { revision, id, type, metadata } = stored
    const index = this.growingTree.edge.size
    const text = { stream, revision, id, type, data, metadata, previousHash, index }
    this.#add(hash)
    this.growingTree.add(hash, stored.position, data)
    if (stream === ledgerStreamOf(this.#companyId).stream) this.#addFact(text)
    else if (
      stream === refusalsStreamOf(this.#companyId).stream &&
      data.includes(this.#chargeIdField)
    ) {
      const refused = decodeStored(refusalCodec, text)
      if (refused.type !== "ChargeRefused") return
      this.found = { event: text, inputs: inputsFromRefusal(refused), facts: [], later: [] }
    }
  }

  #add(hash: string): void {
    const at = this.growingTree.edge.size * HASH_BYTES
    if (at === this.#leaves.length) {
      const larger = Buffer.alloc(2 * this.#leaves.length)
      this.#leaves.copy(larger)
      this.#leaves = larger
    }
    this.#leaves.write(leafHashOf(hash), at, "hex")
  }

  #addFact(text: UnprovenEvent): void {
    const fact = decodeStored(ledgerCodec, text)
    const isNamed = text.data.includes(this.#chargeIdField)
    if (fact.type === "Charged" && isNamed) this.#find(fact, text)
    else if (fact.type === "ChargeReduced" && isNamed) this.found?.later.push(text)
    else if (fact.type === "ChargesSettled" && text.data.includes(this.#chargeIdText)) {
      this.found?.later.push(text)
    }
    if (fact.type === "LimitSet") this.#latestFacts.set(limitKey(fact), text)
    if (fact.type === "LedgerOpened" || fact.type === "TermsChanged") {
      this.#latestFacts.set("terms", text)
    }
    this.#latestFacts.set("last", text)
    this.#state = ledgerDecider.evolve(this.#state, fact)
  }

  #find(fact: Charged, event: UnprovenEvent): void {
    const { fundsMicros, creditLineMicros, prepaidOnly, locked } = accountOf(this.#state)
    const { amountMicros, at } = fact
    const limits = applicableLimits(this.#state, fact as Spender, fact.class, at, amountMicros)
    const names = ["terms", ...limits.map(limitKey), "last"]
    const facts = names.flatMap((name) => this.#latestFacts.get(name) ?? [])
    const ledgerRevision = event.revision - 1
    const account = { fundsMicros, creditLineMicros, prepaidOnly, locked }
    const unique = [...new Set(facts)]
    this.found = { event, inputs: { ledgerRevision, ...account, limits }, facts: unique, later: [] }
  }
}

function limitKey({
  holder,
  holderId,
  class: limited,
}: Pick<LimitReading, "holder" | "holderId" | "class">): string {
  return `${holder} ${holderId ?? ""} ${limited}`
}
