/** Checks an exported history without any other data. */
import { createHash, createPublicKey, verify } from "node:crypto"
import { z } from "zod"
import type { SignedTreeHead } from "../../adapters/postgres/tree-heads/port.ts"
import { companyOfStream } from "../../domain/kernel/aggregate.ts"
import { NO_HASH, expectedHash, hashOfMetadata } from "../frame/kernel/envelope.ts"
import { HISTORY_FILE_FORM } from "./history-file.ts"
import type { HistoryEvent } from "./history-file.ts"
import { TreeEdge } from "./merkle.ts"
import { headSigningText, treeNameOf } from "./trees.ts"

/** The DER prefix of an Ed25519 public key (RFC 8410). */
const DER_BEFORE_KEY = Buffer.from("302a300506032b6570032100", "hex")

/** A file is not what it claims. The message names the first discrepancy. */
export class HistoryFileFault extends Error {
  override readonly name = "HistoryFileFault"
  /** The first discrepancy. */
  readonly place: {
    readonly line: number
    readonly stream?: string
    readonly revision?: number
    readonly expected: string
    readonly found: string
  }
  constructor(place: HistoryFileFault["place"]) {
    const { line, stream, revision, expected, found } = place
    const event = stream === undefined ? "" : `, ${stream} revision ${revision}`
    super(`line ${line}${event}: expected ${expected}, found ${found}`)
    this.place = place
  }
}

export interface HistorySummary {
  readonly kind: "export"
  readonly company: string | null
  readonly events: number
  readonly streams: number
  readonly heads: readonly SignedTreeHead[]
  /** The keys that signed it. */
  readonly publicKeys: readonly string[]
}

export const SignedHeadSchema = z.object({
  tree: z.string(),
  size: z.int(),
  root: z.string(),
  position: z.string(),
  at: z.string(),
  publicKey: z.string(),
  signature: z.string(),
})

function isEvent(parsed: object): parsed is HistoryEvent {
  const fields: Readonly<Record<string, unknown>> = { ...parsed }
  const texts = ["stream", "id", "type", "data", "metadata"].map((name) => fields[name])
  return texts.every((one) => typeof one === "string") && Number.isSafeInteger(fields["revision"])
}

/** Whether a head is signed by the key it names. */
export function hasValidSignature(head: SignedTreeHead): boolean {
  const key = Buffer.from(head.publicKey, "base64")
  if (key.length !== 32) return false
  const publicKey = createPublicKey({
    key: Buffer.concat([DER_BEFORE_KEY, key]),
    format: "der",
    type: "spki",
  })
  const signature = Buffer.from(head.signature, "base64")
  return verify(null, Buffer.from(headSigningText(head)), publicKey, signature)
}

interface StreamEnd {
  revision: number
  hash: string
}

/**
 * Reads a history line by line, yields each event after checking its hash, and returns a summary of
 * the file.
 *
 * @param publicKey the only key that may have signed it, base64; null for any
 * @throws FileFault if the file was changed or is incomplete; events yielded before are valid
 */
export async function* readCheckedHistory(
  lines: AsyncIterable<string>,
  publicKey: string | null,
): AsyncGenerator<HistoryEvent, HistorySummary> {
  const check = new HistoryChecker(publicKey)
  for await (const line of lines) {
    const event = check.addLine(line)
    if (event !== null) yield event
  }
  return check.finish()
}

class HistoryChecker {
  readonly #publicKey: string | null
  readonly #bytes = createHash("sha256")
  readonly #seen = new Map<string, StreamEnd>()
  readonly #trees = new Map<string, { edge: TreeEdge; last: HistoryEvent }>()
  readonly #heads: SignedTreeHead[] = []
  #company: string | null = null
  #line = 0
  #events = 0
  #ranges = 0
  #isComplete = false

  constructor(publicKey: string | null) {
    this.#publicKey = publicKey
  }

  addLine(line: string): HistoryEvent | null {
    this.#line += 1
    if (this.#isComplete) this.#fault("the end of the file", "another line")
    const parsed = this.#parse(line)
    const isManifest = "manifest" in parsed
    if (!isManifest) this.#bytes.update(`${line}\n`)
    if (this.#line === 1) this.#takeFirst(parsed)
    else if ("stream" in parsed) return this.#takeEvent(parsed)
    else if ("range" in parsed) this.#takeRange(parsed)
    else if ("head" in parsed) this.#takeHead(parsed["head"])
    else if (isManifest) this.#takeManifest(parsed["manifest"] as Record<string, unknown>)
    else this.#fault("an event, a range, a head or the manifest", line.slice(0, 100))
    return null
  }

  finish(): HistorySummary {
    this.#line += 1
    if (!this.#isComplete) this.#fault("the manifest", "the end of the file: it was cut short")
    const publicKeys = [...new Set(this.#heads.map((head) => head.publicKey))]
    const counts = { events: this.#events, streams: this.#seen.size }
    return { kind: "export", company: this.#company, ...counts, heads: this.#heads, publicKeys }
  }

  #fault(expected: string, found: string, at?: { stream: string; revision: number }): never {
    throw new HistoryFileFault({ line: this.#line, ...at, expected, found })
  }

  #parse(line: string): Record<string, unknown> {
    try {
      const parsed: unknown = JSON.parse(line)
      if (typeof parsed === "object" && parsed !== null) return parsed as Record<string, unknown>
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error
    }
    return this.#fault("a JSON object", line.slice(0, 100))
  }

  #takeFirst({ companyLedger, form, company }: Record<string, unknown>): void {
    if (companyLedger !== "export") this.#fault("an export of company-ledger", "something else")
    if (form !== HISTORY_FILE_FORM)
      this.#fault(
        `form ${HISTORY_FILE_FORM}`,
        `form ${String(form)}: use a newer version of this program`,
      )
    this.#company = typeof company === "string" ? company : null
  }

  #takeEvent(event: object): HistoryEvent {
    if (!isEvent(event)) return this.#fault("an event", "other fields")
    const { stream, revision } = event
    if (this.#ranges > 0) this.#fault("no event after a range", "one", event)
    if (this.#company !== null && companyOfStream(stream) !== this.#company) {
      this.#fault(`an event of ${this.#company}`, "one of another company", event)
    }
    const seen = this.#seen.get(stream) ?? { revision: -1, hash: NO_HASH }
    this.#seen.set(stream, seen)
    if (revision !== seen.revision + 1) {
      this.#fault(`revision ${seen.revision + 1}`, `revision ${revision}`, event)
    }
    const expected = expectedHash(event, seen.hash)
    const found = hashOfMetadata(event.metadata) ?? "none"
    if (found !== expected) this.#fault(`the hash ${expected}`, found, event)
    seen.revision = revision
    seen.hash = found
    const name = treeNameOf(stream)
    const tree = this.#trees.get(name) ?? { edge: new TreeEdge(), last: event }
    this.#trees.set(name, tree)
    tree.edge.add(found)
    tree.last = event
    this.#events += 1
    return event
  }

  #takeRange({ range, first, last, hash }: Record<string, unknown>): void {
    this.#ranges += 1
    const seen = this.#seen.get(String(range))
    const found = seen === undefined ? "no event of it" : `${seen.revision}, ${seen.hash}`
    const isSame = first === 0 && seen?.revision === last && seen?.hash === hash
    const expected = `${String(range)} from 0 to ${String(last)}, ${String(hash)}`
    if (!isSame) this.#fault(expected, `its end at ${found}`)
  }

  #takeHead(given: unknown): void {
    const { data: head } = SignedHeadSchema.safeParse(given)
    if (head === undefined) return this.#fault("a head", "one with missing fields")
    const tree = this.#trees.get(head.tree)
    if (tree === undefined) return this.#fault(`events of ${head.tree}`, "none")
    const { edge, last } = tree
    if (edge.size !== head.size) this.#fault(`${head.size} events of ${head.tree}`, `${edge.size}`)
    const root = edge.root()
    if (root !== head.root) this.#fault(`the root ${head.root}`, root)
    const { at } = this.#parse(last.data)
    if (at !== head.at) this.#fault(`the last event at ${head.at}`, String(at), last)
    if (!hasValidSignature(head))
      this.#fault("a signature by the key it names", "an invalid signature")
    if (this.#publicKey !== null && this.#publicKey !== head.publicKey) {
      this.#fault(`a signature by ${this.#publicKey}`, `one by ${head.publicKey}`)
    }
    this.#heads.push(head)
  }

  #takeManifest(manifest: Record<string, unknown>): void {
    const found = {
      events: this.#events,
      streams: this.#ranges,
      heads: this.#heads.length,
      sha256: this.#bytes.digest("hex"),
    }
    for (const [name, value] of Object.entries(found)) {
      if (manifest[name] === value) continue
      this.#fault(`${name} ${JSON.stringify(manifest[name])}`, JSON.stringify(value))
    }
    const streams = this.#seen.size
    if (this.#ranges !== streams) this.#fault(`${streams} ranges`, `${this.#ranges}`)
    const trees = this.#trees.size
    if (this.#heads.length !== trees) this.#fault(`${trees} heads`, `${this.#heads.length}`)
    this.#isComplete = true
  }
}
