/**
 * Holding the history against heads that were signed of it, and against one that an auditor noted.
 * Whoever writes a history anew, with every hash made again, cannot make the former heads of it.
 */
import type { Signing } from "../../adapters/sealing/port.ts"
import type { SignedTreeHead, TreeHeads } from "../../adapters/postgres/tree-heads/port.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Discrepancy } from "./findings.ts"
import { WHOLE_HISTORY } from "./findings.ts"
import { hasValidSignature } from "./check-history.ts"
import { TreeEdge } from "./merkle.ts"
import { treeNameOf } from "./trees.ts"

/** A tree, and its heads that were signed. */
interface SignedTree {
  readonly edge: TreeEdge
  /** Those that were signed, the smallest first, and the next of them to be reached. */
  readonly heads: readonly SignedTreeHead[]
  nextHead: number
  /** Of the last event, for a place to name. */
  stream: string
  revision: number
}

/** Of the whole history, and of no stream. */
const NO_LOCATION = { stream: WHOLE_HISTORY, revision: 0 }

/** Heads, and the trees that grow beside them. */
export class SignedHeadCheck {
  readonly #trees = new Map<string, SignedTree>()
  readonly #noted: string | null
  #isNotedThere: boolean
  #fault: Discrepancy | null = null
  readonly #forged: SignedTreeHead | null
  readonly #publicKey: string

  private constructor(heads: readonly SignedTreeHead[], noted: string | null, publicKey: string) {
    this.#noted = noted
    this.#publicKey = publicKey
    const isOurs = (head: SignedTreeHead) => head.publicKey === publicKey && hasValidSignature(head)
    this.#forged = heads.find((head) => !isOurs(head)) ?? null
    this.#isNotedThere = noted === null
    for (const [tree, signed] of Map.groupBy(heads, ({ tree: name }) => name)) {
      this.#trees.set(tree, { edge: new TreeEdge(), heads: signed, nextHead: 0, ...NO_LOCATION })
    }
  }

  /** Loads what was signed up to now: what is signed later may be of more than will be read. */
  static async load(
    ports: { readonly treeHeads: Pick<TreeHeads, "list">; readonly signing: Signing },
    companyId: CompanyId | null,
    noted: string | null,
  ): Promise<SignedHeadCheck> {
    const heads = await ports.treeHeads.list(companyId)
    return new SignedHeadCheck(heads, noted, (await ports.signing.sign("")).publicKey)
  }

  /** Whether a head was signed of the tree that a stream's events grow. */
  hasHeadFor(stream: string): boolean {
    return this.#trees.has(treeNameOf(stream))
  }

  /** Takes the next event, with its hash. */
  add(stream: string, revision: number, hash: string): void {
    if (hash === this.#noted) this.#isNotedThere = true
    if (this.#trees.size === 0) return
    const held = this.#trees.get(treeNameOf(stream))
    const expected = held?.heads[held.nextHead]
    // Beyond the last head that was signed nothing is compared, so nothing need be hashed.
    if (held === undefined || expected === undefined) return
    held.edge.add(hash)
    held.stream = stream
    held.revision = revision
    if (expected.size !== held.edge.size) return
    held.nextHead += 1
    const found = held.edge.root()
    if (found === this.#noted) this.#isNotedThere = true
    if (found === expected.root || this.#fault !== null) return
    const of = `${expected.tree} at ${expected.size} events`
    const wanted = `the root ${expected.root} that was signed of ${of}`
    this.#fault = { stream, revision, expected: wanted, found }
  }

  /** Tells the first head that is not of this history. */
  reportDiscrepancies(tell: (place: Discrepancy) => void): void {
    if (this.#fault !== null) tell(this.#fault)
    if (this.#forged !== null) tell(this.#signatureFault(this.#forged))
    for (const { edge, heads, stream, revision } of this.#trees.values()) {
      const lost = heads.at(-1)
      if (lost === undefined || lost.size <= edge.size) continue
      const expected = `${lost.size} events, as was signed of ${lost.tree} at ${lost.at}`
      tell({ stream, revision, expected, found: `${edge.size}: the others are gone` })
    }
    if (this.#isNotedThere) return
    const expected = `the head ${this.#noted} that was given, of an event or a signed head`
    const found = "none that has this hash: what it was the end of was cut or changed"
    tell({ ...NO_LOCATION, expected, found })
  }

  #signatureFault({ tree, size, publicKey }: SignedTreeHead): Discrepancy {
    const held = this.#trees.get(tree) ?? NO_LOCATION
    const { stream, revision } = held
    const expected = `a signature of the head of ${tree} at ${size} events by ${this.#publicKey}`
    const isOther = publicKey !== this.#publicKey
    const found = isOther ? `one by ${publicKey}` : "one that is none"
    return { stream, revision, expected, found }
  }
}
