/**
 * The form of a backup: one text file that is written and read from its beginning to its end, some
 * hundred kilobytes at a time.
 *
 *     company-ledger backup 1
 *     <checksum> head 0 {"migrations":[…],"generation":0}
 *     <checksum> projections 1 [{…}]             rows of a table, as PostgreSQL writes them
 *     <checksum> events 120 [["ledger-…",0,"<id>","LedgerOpened","<data>","<metadata>"],…]
 *     <checksum> company_keys 3 [{…},…]
 *     <checksum> end 0 {"counts":{"events":120,…},"handledEvents":{"work":118}}
 *
 * A checksum is the SHA-256 of the checksum of the line before (of the first line's text for the
 * second line), a space, and the rest of its own line. So each line vouches for all before it, and the
 * last one for the whole file.
 */
import { createHash } from "node:crypto"
import { createReadStream } from "node:fs"
import { z } from "zod"

const NAME = "company-ledger backup"
const FORMAT_VERSION = 1
const FIRST_LINE = `${NAME} ${FORMAT_VERSION}`
/** No line that was written is longer: what is, was changed. */
const LONGEST_LINE_BYTES = 64 * 1024 * 1024

/** The kind of the lines that hold events. */
export const EVENTS_BLOCK = "events"

const HeaderLine = z.object({
  migrations: z.array(z.string()).readonly(),
  /** How often the events had moved before. */
  generation: z.int(),
})
const RowCounts = z.record(z.string(), z.int())
/** `handledEvents`: by each projection that is written once, from how many events. */
const TrailerLine = z.object({ counts: RowCounts, handledEvents: RowCounts })

/** What a backup says of itself at its beginning. */
export type BackupHead = z.infer<typeof HeaderLine>

/** What a backup says of itself at its end. */
export type BackupEnd = z.infer<typeof TrailerLine>

/** Some rows or events of a backup. */
export interface BackupBlock {
  /** `events`, or the name of a table. */
  readonly kind: string
  readonly count: number
  /** A JSON array. */
  readonly json: string
}

/** The file is no backup, or not whole. The message names the place. */
export class BackupFault extends Error {
  override readonly name = "BackupFault"
}

/** Writes a backup from its first line to its last. */
export class BackupWriter {
  readonly #send: (text: string) => Promise<void>
  readonly #counts: Record<string, number> = {}
  #checksum = sha256(FIRST_LINE)
  #bytes = 0

  /** `send` takes the file's text, piece by piece; resolves when there is room for the next. */
  constructor(send: (text: string) => Promise<void>) {
    this.#send = send
  }

  /** How many events or rows of each kind were written. */
  get counts(): Readonly<Record<string, number>> {
    return this.#counts
  }

  /** How long the file is by now. */
  get bytes(): number {
    return this.#bytes
  }

  async begin(head: BackupHead): Promise<void> {
    await this.#write(`${FIRST_LINE}\n`)
    await this.#line("head", 0, JSON.stringify(head))
  }

  async block({ kind, count, json }: BackupBlock): Promise<void> {
    this.#counts[kind] = (this.#counts[kind] ?? 0) + count
    await this.#line(kind, count, json)
  }

  /** Writes the last line; answers its checksum, which is the whole file's. */
  async end(handledEvents: Readonly<Record<string, number>>): Promise<string> {
    await this.#line("end", 0, JSON.stringify({ counts: this.#counts, handledEvents }))
    return this.#checksum
  }

  async #line(kind: string, count: number, json: string): Promise<void> {
    const rest = `${kind} ${count} ${json}`
    this.#checksum = sha256(`${this.#checksum} ${rest}`)
    await this.#write(`${this.#checksum} ${rest}\n`)
  }

  async #write(text: string): Promise<void> {
    this.#bytes += Buffer.byteLength(text)
    await this.#send(text)
  }
}

/** What a whole backup is. */
export interface BackupSummary {
  readonly head: BackupHead
  readonly end: BackupEnd
  /** The checksum of the whole file. */
  readonly checksum: string
}

/**
 * Reads a backup: hands over its blocks as they come, each after its checksum was found right, and
 * returns what the whole is.
 *
 * @throws BackupFault where it was changed or is not whole: what was handed over before is right
 * @throws the operating system's errors
 */
export async function* readBackup(path: string): AsyncGenerator<BackupBlock, BackupSummary> {
  const counts: Record<string, number> = {}
  let checksum = ""
  let head: BackupHead | null = null
  let end: BackupEnd | null = null
  for await (const { bytes, number, at } of linesOf(path)) {
    const place = `line ${number} (byte ${at})`
    if (number === 1) {
      checkFirst(bytes)
      checksum = sha256(FIRST_LINE)
      continue
    }
    if (end !== null) throw new BackupFault(`something follows its end, at ${place}`)
    const { stated, rest, block } = parseLine(bytes, place)
    checksum = sha256(`${checksum} ${rest}`)
    if (checksum !== stated) throw new BackupFault(`${place} was changed`)
    if (block.kind === "head") head = HeaderLine.parse(JSON.parse(block.json))
    else if (block.kind === "end") end = TrailerLine.parse(JSON.parse(block.json))
    else {
      counts[block.kind] = (counts[block.kind] ?? 0) + block.count
      yield block
    }
  }
  if (head === null || end === null) throw new BackupFault("it was cut short: its end is missing")
  const isCounted = JSON.stringify(counts) === JSON.stringify(end.counts)
  if (!isCounted) throw new BackupFault("it does not hold as much as it says at its end")
  return { head, end, checksum }
}

/** @throws BackupFault */
function checkFirst(bytes: Buffer): void {
  const text = bytes.subarray(0, 100).toString()
  if (text === FIRST_LINE) return
  const form = new RegExp(`^${NAME} (\\d+)$`).exec(text)?.[1]
  if (form === undefined) throw new BackupFault("it is no backup of company-ledger")
  throw new BackupFault(
    `it was made by a newer version of company-ledger (its form is ${form}): use that version`,
  )
}

/** @throws BackupFault */
function parseLine(bytes: Buffer, place: string) {
  const text = bytes.toString()
  const match = /^([0-9a-f]{64}) (([a-z_]+) (\d{1,15}) )/.exec(text)
  if (match === null) throw new BackupFault(`${place} was changed`)
  const [, stated, words = "", kind = "", count] = match
  const json = text.slice(65 + words.length)
  return { stated, rest: text.slice(65), block: { kind, count: Number(count), json } }
}

interface Line {
  readonly bytes: Buffer
  readonly number: number
  /** Where it begins in the file. */
  readonly at: number
}

/** The lines of a file, each with its end. @throws BackupFault where the last one has none */
async function* linesOf(path: string): AsyncGenerator<Line> {
  let parts: Buffer[] = []
  let length = 0
  let at = 0
  let number = 1
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    let from = 0
    for (;;) {
      const to = chunk.indexOf(0x0a, from)
      const part = chunk.subarray(from, to === -1 ? undefined : to)
      parts.push(part)
      length += part.length
      if (length > LONGEST_LINE_BYTES)
        throw new BackupFault(`line ${number} (byte ${at}) was changed`)
      if (to === -1) break
      yield { bytes: Buffer.concat(parts), number, at }
      at += length + 1
      number += 1
      parts = []
      length = 0
      from = to + 1
    }
  }
  if (length > 0) throw new BackupFault(`it was cut short in line ${number} (byte ${at})`)
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex")
}
