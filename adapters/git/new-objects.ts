/**
 * What a push brought, read where it waits: in its quarantine, beside the repository's own objects. Nothing
 * is walked to find it, for what nothing refers to can be fetched all the same.
 */
import { join } from "node:path"
import type { Entry, NewObject, Piece, Push, RefUpdate } from "./port.ts"
import { MOST_PIECE } from "./port.ts"
import type { Command, Machine, Running } from "./process.ts"
import { failed, isSo, outputOf, run } from "./process.ts"

/** Where a push waits. */
interface Waiting {
  readonly machine: Machine
  readonly folder: string
  /** Absolute; null where it brought nothing. */
  readonly quarantine: string | null
  readonly updates: readonly RefUpdate[]
  readonly head: Push["head"]
  readonly sentHead: string | null
  /** Aborted when nobody waits for it any more: then reading it fails. */
  readonly left: AbortSignal
}

/** A push that waits. */
export function pushOf(waiting: Waiting): Push {
  const { updates, head, sentHead } = waiting
  return {
    updates,
    head,
    sentHead,
    left: waiting.left,
    objects: () => objectsOf(waiting),
    read: (ids) => contentsOf(waiting, ids),
    commits: () => commitsOf(waiting),
    folders: (commits, path) => foldersOf(waiting, commits, path),
    pathOf: (blob) => pathOf(waiting, blob),
    isAncestor: (older, newer) =>
      isSo(waiting.machine, seeing(waiting, ["merge-base", "--is-ancestor", older, newer])),
  }
}

/** A command that sees the repository's objects and those that wait. */
function seeing({ folder, quarantine, left }: Waiting, args: readonly string[]): Command {
  if (quarantine === null) return { folder, args, left }
  const alternates = join(folder, "objects")
  const env = {
    GIT_OBJECT_DIRECTORY: quarantine,
    GIT_ALTERNATE_OBJECT_DIRECTORIES: alternates,
  }
  return { folder, args, env, left }
}

/** Of more commits it is asked first which folders they have: most have the same one. */
const ASKED_ONE_BY_ONE = 8

const ROW = "--batch-check=%(objectname) %(objecttype) %(objectsize)"

/**
 * What the pack brought, without what it was completed by: objects that were there before, and checked
 * then, lie in it where it was sent as differences to them.
 */
async function* objectsOf(waiting: Waiting): AsyncGenerator<NewObject> {
  const { machine, folder, quarantine, left } = waiting
  if (quarantine === null) return
  const listing = ["cat-file", "--batch-all-objects", "--unordered", "--buffer", ROW]
  const there: Command = { folder, args: listing, env: { GIT_OBJECT_DIRECTORY: quarantine }, left }
  const asked: NewObject[] = []
  const ids = async function* () {
    for await (const line of linesOf(machine, there)) {
      const [id = "", type, size] = line.split(" ")
      asked.push({ id, type: type as NewObject["type"], size: Number(size) })
      yield `${id}\n`
    }
  }
  const before: Command = { folder, args: ["cat-file", "--batch-check"], left }
  for await (const line of linesOf(machine, before, ids())) {
    const one = asked.shift()
    if (one === undefined) throw new Error("git answered what it was not asked")
    if (line === `${one.id} missing`) yield one
  }
}

async function* contentsOf(waiting: Waiting, ids: Iterable<string>): AsyncGenerator<Piece> {
  for await (const { asked, found, whole, some } of batch(waiting, ids)) {
    if (found === null) throw new Error(`git does not find the object ${asked}`)
    if (found.size <= MOST_PIECE) {
      yield { ...found, from: 0, bytes: await whole() }
      continue
    }
    for (let from = 0; from < found.size;) {
      const bytes = await some()
      yield { ...found, from, bytes }
      from += bytes.length
    }
  }
}

/** An object that was asked for by its name; its bytes are to be read before the next one is asked for. */
interface Batched {
  readonly asked: string
  /** Null where it is not there. */
  readonly found: NewObject | null
  readonly whole: () => Promise<Buffer>
  /** The next of its bytes. */
  readonly some: () => Promise<Buffer>
}

/** The objects of these names, in their order. */
async function* batch(waiting: Waiting, names: Iterable<string>): AsyncGenerator<Batched> {
  const asked: string[] = []
  const input = async function* () {
    for (const name of names) {
      asked.push(name)
      yield `${name}\n`
    }
  }
  const command = seeing(waiting, ["cat-file", "--batch", "--buffer"])
  const reader = running(waiting.machine, command, input())
  const read = { whole: () => reader.bytes(0), some: () => reader.bytes(0) }
  try {
    for (;;) {
      const head = await reader.line()
      if (head === null) break
      const name = asked.shift() ?? ""
      if (head === `${name} missing`) {
        yield { asked: name, found: null, ...read }
        continue
      }
      const [id = "", type, length] = head.split(" ")
      const size = Number(length)
      if (!Number.isSafeInteger(size)) throw new Error(`git answered ${head}`)
      let left = size
      const taken = (bytes: Buffer): Buffer => {
        left -= bytes.length
        return bytes
      }
      const whole = async () => taken(await reader.bytes(left))
      const some = async () => taken(await reader.some(Math.min(left, MOST_PIECE)))
      yield { asked: name, found: { id, type: type as NewObject["type"], size }, whole, some }
      // What nobody wanted, and the end of its line.
      while (left > 0) await some()
      await reader.bytes(1)
    }
    await reader.end()
  } finally {
    reader.stop()
  }
}

/** What refs would reach that none reaches now: also what was brought before, and lay there unseen. */
async function* commitsOf(waiting: Waiting) {
  const tips = waiting.updates.flatMap((update) => update.new ?? [])
  if (tips.length === 0) return
  const command = seeing(waiting, ["rev-list", "--parents", "--stdin", "--not", "--all"])
  const input = tips.map((id) => `${id}\n`)
  for await (const line of linesOf(waiting.machine, command, input)) {
    const [id = "", ...parents] = line.split(" ")
    yield { id, parents }
  }
}

async function* foldersOf(waiting: Waiting, commits: readonly string[], path: string) {
  const names = commits.map((commit) => `${commit}:${path}`)
  const commitOf = (name: string) => name.slice(0, name.indexOf(":"))
  if (commits.length <= ASKED_ONE_BY_ONE) {
    for await (const { asked, found, whole } of batch(waiting, names)) {
      const entries = found?.type === "tree" ? entriesOf(await whole()) : null
      yield { commits: [commitOf(asked)], entries }
    }
    return
  }
  const byTree = new Map<string, string[]>()
  const without: string[] = []
  const asked = names.values()
  const input = names.map((name) => `${name}\n`)
  for await (const line of linesOf(waiting.machine, seeing(waiting, ["cat-file", ROW]), input)) {
    const commit = commitOf(asked.next().value ?? "")
    const [id = "", type] = line.split(" ")
    if (type !== "tree") without.push(commit)
    else if (byTree.get(id)?.push(commit) === undefined) byTree.set(id, [commit])
  }
  yield { commits: without, entries: null }
  for await (const { asked: id, found, whole } of batch(waiting, byTree.keys())) {
    if (found === null) throw new Error(`git does not find the tree ${id}`)
    yield { commits: byTree.get(id) ?? [], entries: entriesOf(await whole()) }
  }
}

/** The entries of a tree as git stores it: `<mode> <name>\0<20 bytes>`, one behind the other. */
function entriesOf(tree: Buffer): readonly (Entry & { readonly name: string })[] {
  const entries: (Entry & { readonly name: string })[] = []
  for (let at = 0; at < tree.length;) {
    const space = tree.indexOf(0x20, at)
    const end = tree.indexOf(0, space)
    const mode = tree.toString("latin1", at, space)
    const name = tree.toString("utf8", space + 1, end)
    entries.push({ mode, name, id: tree.toString("hex", end + 1, end + 21) })
    at = end + 21
  }
  return entries
}

async function pathOf(waiting: Waiting, blob: string): Promise<string | null> {
  const tips = waiting.updates.flatMap((update) => update.new ?? [])
  const command = seeing(waiting, ["rev-list", "--objects", "--stdin", "--not", "--all"])
  const input = tips.map((id) => `${id}\n`)
  for await (const line of linesOf(waiting.machine, command, input)) {
    if (line.startsWith(`${blob} `)) return line.slice(blob.length + 1)
  }
  return null
}

/** The lines that a command writes. @throws GitFailed where it fails */
export async function* linesOf(
  machine: Machine,
  command: Command,
  input: Iterable<string> | AsyncIterable<string> = [],
): AsyncGenerator<string> {
  const reader = running(machine, command, input)
  try {
    for (let line = await reader.line(); line !== null; line = await reader.line()) yield line
    await reader.end()
  } finally {
    reader.stop()
  }
}

/** A command that is given its input while its output is read. */
function running(
  machine: Machine,
  command: Command,
  input: Iterable<string> | AsyncIterable<string>,
) {
  const process = run(machine, command)
  const given = give(process, input)
  // It is waited for at the end; whoever stops before is not told.
  given.catch(() => process.kill())
  return {
    ...byteReader(process.stdout as AsyncIterable<Uint8Array>),
    end: async () => {
      await given
      const ended = await process.ended
      if (ended.code !== 0) throw failed(command, ended)
    },
    stop: () => {
      process.kill()
      process.stdout.destroy()
    },
  }
}

/** How much is given at once. */
const MOST_AT_ONCE = 16 * 1024

async function give(
  { stdin, ended }: Running,
  input: Iterable<string> | AsyncIterable<string>,
): Promise<void> {
  let text = ""
  const flush = async () => {
    const hasRoom = stdin.destroyed || stdin.write(text)
    text = ""
    if (hasRoom) return
    const { promise: drained, resolve } = Promise.withResolvers<void>()
    stdin.once("drain", resolve)
    await Promise.race([drained, ended])
  }
  for await (const piece of input) {
    text += piece
    if (text.length >= MOST_AT_ONCE) await flush()
  }
  await flush()
  stdin.end()
}

/** One object by its name, where nothing waits; null where it is not there. */
export async function typeOf(
  machine: Machine,
  folder: string,
  name: string,
): Promise<string | null> {
  const command = { folder, args: ["cat-file", "--batch-check=%(objecttype)"] }
  const line = (await outputOf(machine, command, `${name}\n`)).toString("utf8").trim()
  return line.endsWith(" missing") ? null : line
}

const NEWLINE = 0x0a

/** Reads from pieces as they come. */
interface ByteReader {
  /** The next line without its end; null where there is none. @throws Error where it is too long */
  readonly line: () => Promise<string | null>
  /** The next so many bytes. @throws Error where fewer come */
  readonly bytes: (count: number) => Promise<Buffer>
  /** The next bytes as they have come, at least one and at most so many. @throws Error where none come */
  readonly some: (most: number) => Promise<Buffer>
  /** All that comes still; nothing is read by the others from then on. */
  readonly rest: () => AsyncIterable<Uint8Array>
}

/** A name may have 4,096 bytes, and stands in a line with little beside it. */
const MOST_LINE = 64 * 1024

/** Reads from a stream. */
export function byteReader(stream: AsyncIterable<Uint8Array>): ByteReader {
  const pieces = stream[Symbol.asyncIterator]()
  let rest: Buffer = Buffer.alloc(0)
  /** Reads on; null at the end. */
  const more = async (): Promise<Buffer | null> => {
    const next = await pieces.next()
    return next.done === true ? null : Buffer.from(next.value)
  }
  const some = async (most: number): Promise<Buffer> => {
    if (rest.length === 0) {
      const piece = await more()
      if (piece === null) throw new Error(`git wrote ${most} bytes too few`)
      rest = piece
    }
    const part = rest.subarray(0, most)
    rest = rest.subarray(part.length)
    return part
  }
  return {
    some,
    rest: async function* () {
      yield rest
      for (let piece = await more(); piece !== null; piece = await more()) yield piece
    },
    line: async () => {
      for (;;) {
        const end = rest.indexOf(NEWLINE)
        if (end >= 0) {
          const line = rest.toString("utf8", 0, end)
          rest = rest.subarray(end + 1)
          return line
        }
        if (rest.length > MOST_LINE) throw new Error("git wrote a line that is too long")
        const piece = await more()
        if (piece !== null) rest = Buffer.concat([rest, piece])
        else if (rest.length === 0) return null
        else throw new Error("git wrote a line without an end")
      }
    },
    bytes: async (count) => {
      const taken: Buffer[] = []
      for (let missing = count; missing > 0;) {
        const part = await some(missing)
        taken.push(part)
        missing -= part.length
      }
      return taken.length === 1 ? (taken[0] as Buffer) : Buffer.concat(taken, count)
    },
  }
}
