/**
 * Holding the history against heads that were signed of it, and against one that an auditor noted.
 * Whoever writes a history anew, with every hash made again, cannot make the former heads of it.
 */
import type { Signing } from "../../adapters/sealing/port.ts"
import type { SignedHead, TreeHeads } from "../../adapters/postgres/tree-heads/port.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Place } from "./findings.ts"
import { NO_STREAM } from "./findings.ts"
import { isSigned } from "./check-history.ts"
import { TreeEdge } from "./merkle.ts"
import { treeOfStream } from "./trees.ts"

/** A tree, and its heads that were signed. */
interface Held {
  readonly edge: TreeEdge
  /** Those that were signed, the smallest first, and the next of them to be reached. */
  readonly signed: readonly SignedHead[]
  next: number
  /** Of the last event, for a place to name. */
  stream: string
  revision: number
}

/** Of the whole history, and of no stream. */
const NOWHERE = { stream: NO_STREAM, revision: 0 }

/** Heads, and the trees that grow beside them. */
export class HeadsHeld {
  readonly #trees = new Map<string, Held>()
  readonly #noted: string | null
  #isNotedThere: boolean
  #fault: Place | null = null
  readonly #forged: SignedHead | null
  readonly #publicKey: string

  private constructor(heads: readonly SignedHead[], noted: string | null, publicKey: string) {
    this.#noted = noted
    this.#publicKey = publicKey
    const isOurs = (head: SignedHead) => head.publicKey === publicKey && isSigned(head)
    this.#forged = heads.find((head) => !isOurs(head)) ?? null
    this.#isNotedThere = noted === null
    for (const [tree, signed] of Map.groupBy(heads, ({ tree: name }) => name)) {
      this.#trees.set(tree, { edge: new TreeEdge(), signed, next: 0, ...NOWHERE })
    }
  }

  /** Loads what was signed up to now: what is signed later may be of more than will be read. */
  static async load(
    ports: { readonly treeHeads: Pick<TreeHeads, "list">; readonly signing: Signing },
    companyId: CompanyId | null,
    noted: string | null,
  ): Promise<HeadsHeld> {
    const heads = await ports.treeHeads.list(companyId)
    return new HeadsHeld(heads, noted, (await ports.signing.sign("")).publicKey)
  }

  /** Whether a head was signed of the tree that a stream's events grow. */
  has(stream: string): boolean {
    return this.#trees.has(treeOfStream(stream))
  }

  /** Takes the next event, with its hash. */
  add(stream: string, revision: number, hash: string): void {
    if (hash === this.#noted) this.#isNotedThere = true
    if (this.#trees.size === 0) return
    const held = this.#trees.get(treeOfStream(stream))
    const expected = held?.signed[held.next]
    // Beyond the last head that was signed nothing is compared, so nothing need be hashed.
    if (held === undefined || expected === undefined) return
    held.edge.add(hash)
    held.stream = stream
    held.revision = revision
    if (expected.size !== held.edge.size) return
    held.next += 1
    const found = held.edge.root()
    if (found === this.#noted) this.#isNotedThere = true
    if (found === expected.root || this.#fault !== null) return
    const of = `${expected.tree} at ${expected.size} events`
    const wanted = `the root ${expected.root} that was signed of ${of}`
    this.#fault = { stream, revision, expected: wanted, found }
  }

  /** Tells the first head that is not of this history. */
  end(tell: (place: Place) => void): void {
    if (this.#fault !== null) tell(this.#fault)
    if (this.#forged !== null) tell(this.#signatureFault(this.#forged))
    for (const { edge, signed, stream, revision } of this.#trees.values()) {
      const lost = signed.at(-1)
      if (lost === undefined || lost.size <= edge.size) continue
      const expected = `${lost.size} events, as was signed of ${lost.tree} at ${lost.at}`
      tell({ stream, revision, expected, found: `${edge.size}: the others are gone` })
    }
    if (this.#isNotedThere) return
    const expected = `the head ${this.#noted} that was given, of an event or a signed head`
    const found = "none that has this hash: what it was the end of was cut or changed"
    tell({ ...NOWHERE, expected, found })
  }

  #signatureFault({ tree, size, publicKey }: SignedHead): Place {
    const held = this.#trees.get(tree) ?? NOWHERE
    const { stream, revision } = held
    const expected = `a signature of the head of ${tree} at ${size} events by ${this.#publicKey}`
    const isOther = publicKey !== this.#publicKey
    const found = isOther ? `one by ${publicKey}` : "one that is none"
    return { stream, revision, expected, found }
  }
}
