/**
 * The proof of one decision: its event, what it was decided from, and that all of it is in the tree
 * whose head is signed. One JSON file, which says everything to somebody who has the public key alone
 * (docs/verify.md).
 */
import { ledgerOf, refusalsOf } from "../../domain/charging/aggregates.ts"
import type { StoredEvent } from "../../adapters/eventstore/port.ts"
import type { SignedHead } from "../../adapters/postgres/tree-heads/port.ts"
import type { Charged } from "../../domain/charging/ledger-formats.ts"
import { ledgerCodec } from "../../domain/charging/ledger-formats.ts"
import { accountOf, limitsFor } from "../../domain/charging/ledger-views.ts"
import { ledger } from "../../domain/charging/ledger.ts"
import type { LimitReading, Spender } from "../../domain/charging/limits.ts"
import { refusalCodec } from "../../domain/charging/refusals.ts"
import type { ChargeId, CompanyId } from "../../domain/kernel/ids.ts"
import { NO_HASH, decodeStored } from "../frame/kernel/envelope.ts"
import { eventsUpTo, headFields } from "./history-file.ts"
import type { HistoryRequest } from "./history-file.ts"
import type { Proof, ProvenEvent } from "./check-proof.ts"
import { Tree, leafOf } from "./merkle.ts"
import { inputsOfRefusal } from "./proof-inputs.ts"
import type { DecisionInputs } from "./proof-inputs.ts"
import { paced } from "./findings.ts"
import { GrowingTree, leafIn } from "./trees.ts"

const HASH_BYTES = 32

/** An event of a proof before its way to the root is known. */
type ProvenText = Omit<ProvenEvent, "inclusion">

/** What a proof is made from. */
export interface ProofRequest extends Pick<
  HistoryRequest,
  "store" | "streams" | "to" | "generation" | "sign" | "pace" | "signal"
> {
  readonly companyId: CompanyId
  readonly chargeId: ChargeId
  /** Heads that were signed before. */
  readonly former: readonly SignedHead[]
}

/** Makes the proof of a charge or of its refusal; null where the company has none of this id. */
export async function proveCharge(request: ProofRequest): Promise<Proof | null> {
  const { companyId, chargeId, former, sign, pace, signal } = request
  const reading = new Reading(companyId, chargeId)
  for await (const page of paced(eventsUpTo(request), pace, signal)) {
    for (const stored of page) reading.take(stored)
  }
  const { found, tree, grown } = reading
  if (found === null) return null
  const proven = (text: ProvenText): ProvenEvent => ({
    ...text,
    inclusion: tree().inclusion(text.index),
  })
  const whole = tree()
  const head = await sign(grown.head(request.generation))
  const { inputs, event, facts, later } = found
  return {
    companyLedger: "proof",
    form: 1,
    company: companyId,
    chargeId,
    event: proven(event),
    inputs: { ...inputs, events: facts.map(proven) },
    later: later.map(proven),
    consistency: former
      .filter(({ size }) => size > 0 && size <= head.size)
      .map((from) => ({ from: headFields(from), path: whole.consistency(from.size) })),
    head: headFields(head),
  }
}

interface Found {
  readonly event: ProvenText
  readonly inputs: DecisionInputs
  readonly facts: readonly ProvenText[]
  readonly later: ProvenText[]
}

/** Reads a company's events once and keeps what a proof needs of them. */
class Reading {
  readonly grown: GrowingTree
  found: Found | null = null
  readonly #companyId: CompanyId
  readonly #named: string
  readonly #quoted: string
  #leaves = Buffer.alloc(1024 * HASH_BYTES)
  #state = ledger.initial()
  #tree: Tree | null = null
  readonly #hashes = new Map<string, string>()
  /** The newest fact of each limit, of the terms, and of the ledger at all. */
  readonly #standing = new Map<string, ProvenText>()

  constructor(companyId: CompanyId, chargeId: ChargeId) {
    this.#companyId = companyId
    this.grown = new GrowingTree(companyId)
    this.#quoted = JSON.stringify(chargeId)
    this.#named = `"chargeId":${this.#quoted}`
  }

  /** The tree over all that was read. */
  readonly tree = (): Tree => {
    this.#tree ??= new Tree(this.#leaves.subarray(0, this.grown.edge.size * HASH_BYTES))
    return this.#tree
  }

  take(stored: StoredEvent): void {
    const { stream, data } = stored
    const hash = leafIn(stored.metadata)
    const previousHash = this.#hashes.get(stream) ?? NO_HASH
    this.#hashes.set(stream, hash)
    const { revision, id, type, metadata } = stored
    const index = this.grown.edge.size
    const text = { stream, revision, id, type, data, metadata, previousHash, index }
    this.#add(hash)
    this.grown.add(hash, stored.position, data)
    if (stream === ledgerOf(this.#companyId).stream) this.#takeFact(text)
    else if (stream === refusalsOf(this.#companyId).stream && data.includes(this.#named)) {
      const refused = decodeStored(refusalCodec, text)
      if (refused.type !== "ChargeRefused") return
      this.found = { event: text, inputs: inputsOfRefusal(refused), facts: [], later: [] }
    }
  }

  #add(hash: string): void {
    const at = this.grown.edge.size * HASH_BYTES
    if (at === this.#leaves.length) {
      const larger = Buffer.alloc(2 * this.#leaves.length)
      this.#leaves.copy(larger)
      this.#leaves = larger
    }
    this.#leaves.write(leafOf(hash), at, "hex")
  }

  #takeFact(text: ProvenText): void {
    const fact = decodeStored(ledgerCodec, text)
    const isNamed = text.data.includes(this.#named)
    if (fact.type === "Charged" && isNamed) this.#find(fact, text)
    else if (fact.type === "ChargeReduced" && isNamed) this.found?.later.push(text)
    else if (fact.type === "ChargesSettled" && text.data.includes(this.#quoted)) {
      this.found?.later.push(text)
    }
    if (fact.type === "LimitSet") this.#standing.set(nameOfLimit(fact), text)
    if (fact.type === "LedgerOpened" || fact.type === "TermsChanged") {
      this.#standing.set("terms", text)
    }
    this.#standing.set("last", text)
    this.#state = ledger.evolve(this.#state, fact)
  }

  #find(fact: Charged, event: ProvenText): void {
    const { fundsMicros, creditLineMicros, prepaidOnly, locked } = accountOf(this.#state)
    const { amountMicros, at } = fact
    const limits = limitsFor(this.#state, fact as Spender, fact.class, at, amountMicros)
    const names = ["terms", ...limits.map(nameOfLimit), "last"]
    const facts = names.flatMap((name) => this.#standing.get(name) ?? [])
    const ledgerRevision = event.revision - 1
    const account = { fundsMicros, creditLineMicros, prepaidOnly, locked }
    const unique = [...new Set(facts)]
    this.found = { event, inputs: { ledgerRevision, ...account, limits }, facts: unique, later: [] }
  }
}

function nameOfLimit({
  holder,
  holderId,
  class: limited,
}: Pick<LimitReading, "holder" | "holderId" | "class">): string {
  return `${holder} ${holderId ?? ""} ${limited}`
}
