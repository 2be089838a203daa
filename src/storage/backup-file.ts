/**
 * The format of a backup: a text file that is written and read sequentially.
 *
 *     company-ledger backup 1
 *     <checksum> head 0 {"migrations":[…],"generation":0}
 *     <checksum> projections 1 [{…}]             rows of a table, as PostgreSQL writes them
 *     <checksum> events 120 [["ledger-…",0,"<id>","LedgerOpened","<data>","<metadata>"],…]
 *     <checksum> company_keys 3 [{…},…]
 *     <checksum> end 0 {"counts":{"events":120,…},"handledEvents":{"work":118}}
 *
 * A checksum is the SHA-256 of the previous line's checksum (for the second line: of the first line's text), a
 * space, and the rest of its own line. So each line covers all before it, and the last one the whole file.
 */
import { createHash } from "node:crypto"
import { createReadStream } from "node:fs"
import { z } from "zod"

const NAME = "company-ledger backup"
const FORMAT_VERSION = 1
const FIRST_LINE = `${NAME} ${FORMAT_VERSION}`
/** The writer never writes a longer line. */
const LONGEST_LINE_BYTES = 64 * 1024 * 1024

/** The kind of the lines that hold events. */
export const EVENTS_BLOCK = "events"

const HeaderLine = z.object({
  migrations: z.array(z.string()).readonly(),
  /** Number of earlier migrations of the events. */
  generation: z.int(),
})
const RowCounts = z.record(z.string(), z.int())
/** `handledEvents`: for each once-only projection, the number of events it has handled. */
const TrailerLine = z.object({ counts: RowCounts, handledEvents: RowCounts })

/** First data of a backup. */
export type BackupHead = z.infer<typeof HeaderLine>

/** Last data of a backup. */
export type BackupEnd = z.infer<typeof TrailerLine>

export interface BackupBlock {
  /** `events`, or the name of a table. */
  readonly kind: string
  readonly count: number
  /** A JSON array. */
  readonly json: string
}

/** The file is not a backup, or is incomplete or changed; the message names the line. */
export class BackupFault extends Error {
  override readonly name = "BackupFault"
}

/** Writes a backup sequentially. */
export class BackupWriter {
  readonly #send: (text: string) => Promise<void>
  readonly #counts: Record<string, number> = {}
  #checksum = sha256(FIRST_LINE)
  #bytes = 0

  /** `send` writes the next piece of text; it resolves when there is room for more. */
  constructor(send: (text: string) => Promise<void>) {
    this.#send = send
  }

  /** Number of written events or rows by kind. */
  get counts(): Readonly<Record<string, number>> {
    return this.#counts
  }

  /** Length of the file so far, in bytes. */
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

  /** Writes the last line; returns its checksum, which covers the whole file. */
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

export interface BackupSummary {
  readonly head: BackupHead
  readonly end: BackupEnd
  /** Checksum of the whole file. */
  readonly checksum: string
}

/**
 * Reads a backup: yields each block after checking its checksum, and returns the summary.
 *
 * @throws BackupFault if the file is changed or incomplete; blocks yielded before are correct
 * @throws the operating system's errors
 */
export async function* readBackup(path: string): AsyncGenerator<BackupBlock, BackupSummary> {
  const counts: Record<string, number> = {}
  let checksum = ""
  let head: BackupHead | null = null
  let end: BackupEnd | null = null
  for await (const { bytes, number, at } of linesOf(path)) {
    const location = `line ${number} (byte ${at})`
    if (number === 1) {
      checkFirst(bytes)
      checksum = sha256(FIRST_LINE)
      continue
    }
    if (end !== null) throw new BackupFault(`the file has data after its end, at ${location}`)
    const { stated, rest, block } = parseLine(bytes, location)
    checksum = sha256(`${checksum} ${rest}`)
    if (checksum !== stated) throw new BackupFault(`${location} was changed`)
    if (block.kind === "head") head = HeaderLine.parse(JSON.parse(block.json))
    else if (block.kind === "end") end = TrailerLine.parse(JSON.parse(block.json))
    else {
      counts[block.kind] = (counts[block.kind] ?? 0) + block.count
      yield block
    }
  }
  if (head === null || end === null)
    throw new BackupFault("the file is truncated: its last line is missing")
  const isComplete = JSON.stringify(counts) === JSON.stringify(end.counts)
  if (!isComplete) throw new BackupFault("the counts in its last line do not match its content")
  return { head, end, checksum }
}

/** Checks the first line. @throws BackupFault */
function checkFirst(bytes: Buffer): void {
  const text = bytes.subarray(0, 100).toString()
  if (text === FIRST_LINE) return
  const version = new RegExp(`^${NAME} (\\d+)$`).exec(text)?.[1]
  if (version === undefined) throw new BackupFault("the file is not a backup of company-ledger")
  throw new BackupFault(
    `a newer version of company-ledger wrote it (format ${version}); use that version`,
  )
}

/** Splits a line. @throws BackupFault */
function parseLine(bytes: Buffer, location: string) {
  const text = bytes.toString()
  const match = /^([0-9a-f]{64}) (([a-z_]+) (\d{1,15}) )/.exec(text)
  if (match === null) throw new BackupFault(`${location} was changed`)
  const [, stated, words = "", kind = "", count] = match
  const json = text.slice(65 + words.length)
  return { stated, rest: text.slice(65), block: { kind, count: Number(count), json } }
}

interface Line {
  readonly bytes: Buffer
  readonly number: number
  /** Offset in the file. */
  readonly at: number
}

/** The lines of a file. @throws BackupFault if the last line has no end */
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
  if (length > 0) throw new BackupFault(`the file is truncated in line ${number} (byte ${at})`)
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex")
}
