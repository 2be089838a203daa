/**
 * Checks the history against heads that were signed for it, and against one that an auditor wrote
 * down. An attacker who rewrites the history with all its hashes cannot produce its former heads.
 */
import type { Signing } from "../../adapters/sealing/port.ts"
import type { SignedTreeHead, TreeHeads } from "../../adapters/postgres/tree-heads/port.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Discrepancy } from "./findings.ts"
import { WHOLE_HISTORY } from "./findings.ts"
import { hasValidSignature } from "./check-history.ts"
import { TreeEdge } from "./merkle.ts"
import { treeNameOf } from "./trees.ts"

interface SignedTree {
  readonly edge: TreeEdge
  /** Smallest first, with the index of the next head to check. */
  readonly heads: readonly SignedTreeHead[]
  nextHead: number
  /** The last event, to name in a discrepancy. */
  stream: string
  revision: number
}

/** The whole history rather than a stream. */
const NO_LOCATION = { stream: WHOLE_HISTORY, revision: 0 }

/** Grows the trees of signed heads, and compares their roots. */
export class SignedHeadCheck {
  readonly #trees = new Map<string, SignedTree>()
  readonly #notedHash: string | null
  #isNotedFound: boolean
  #fault: Discrepancy | null = null
  readonly #forged: SignedTreeHead | null
  readonly #publicKey: string

  private constructor(
    heads: readonly SignedTreeHead[],
    notedHash: string | null,
    publicKey: string,
  ) {
    this.#notedHash = notedHash
    this.#publicKey = publicKey
    const isOurs = (head: SignedTreeHead) => head.publicKey === publicKey && hasValidSignature(head)
    this.#forged = heads.find((head) => !isOurs(head)) ?? null
    this.#isNotedFound = notedHash === null
    for (const [tree, signed] of Map.groupBy(heads, ({ tree: name }) => name)) {
      this.#trees.set(tree, { edge: new TreeEdge(), heads: signed, nextHead: 0, ...NO_LOCATION })
    }
  }

  /** Loads the heads signed so far: later ones may cover events that are not read. */
  static async load(
    ports: { readonly treeHeads: Pick<TreeHeads, "list">; readonly signing: Signing },
    companyId: CompanyId | null,
    notedHash: string | null,
  ): Promise<SignedHeadCheck> {
    const heads = await ports.treeHeads.list(companyId)
    return new SignedHeadCheck(heads, notedHash, (await ports.signing.sign("")).publicKey)
  }

  /** Whether a head was signed for the tree of a stream's events. */
  hasHeadFor(stream: string): boolean {
    return this.#trees.has(treeNameOf(stream))
  }

  /** Adds the next event, by its hash. */
  add(stream: string, revision: number, hash: string): void {
    if (hash === this.#notedHash) this.#isNotedFound = true
    if (this.#trees.size === 0) return
    const tree = this.#trees.get(treeNameOf(stream))
    const expected = tree?.heads[tree.nextHead]
    // After the last signed head there is nothing to compare, so hashing stops.
    if (tree === undefined || expected === undefined) return
    tree.edge.add(hash)
    tree.stream = stream
    tree.revision = revision
    if (expected.size !== tree.edge.size) return
    tree.nextHead += 1
    const found = tree.edge.root()
    if (found === this.#notedHash) this.#isNotedFound = true
    if (found === expected.root || this.#fault !== null) return
    const signed = `the root ${expected.root} that was signed for ${expected.tree} at ${expected.size} events`
    this.#fault = { stream, revision, expected: signed, found }
  }

  /** Reports the first head that does not belong to this history. */
  reportDiscrepancies(report: (discrepancy: Discrepancy) => void): void {
    if (this.#fault !== null) report(this.#fault)
    if (this.#forged !== null) report(this.#signatureFault(this.#forged))
    for (const { edge, heads, stream, revision } of this.#trees.values()) {
      const lost = heads.at(-1)
      if (lost === undefined || lost.size <= edge.size) continue
      const expected = `${lost.size} events, as signed for ${lost.tree} at ${lost.at}`
      report({ stream, revision, expected, found: `${edge.size}; the others are missing` })
    }
    if (this.#isNotedFound) return
    const expected = `the given head ${this.#notedHash}, of an event or a signed head`
    const found = "no event or head with this hash: the history was cut or changed"
    report({ ...NO_LOCATION, expected, found })
  }

  #signatureFault({ tree, size, publicKey }: SignedTreeHead): Discrepancy {
    const { stream, revision } = this.#trees.get(tree) ?? NO_LOCATION
    const expected = `a signature of the head of ${tree} at ${size} events by ${this.#publicKey}`
    const isOther = publicKey !== this.#publicKey
    const found = isOther ? `one by ${publicKey}` : "an invalid signature"
    return { stream, revision, expected, found }
  }
}
