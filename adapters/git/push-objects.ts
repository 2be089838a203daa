/**
 * What a push brought, read where it waits: in its quarantine, beside the repository's own objects. Nothing
 * is walked to find it, for what nothing refers to can be fetched all the same.
 */
import { join } from "node:path"
import type { GitTreeEntry, PushedObject, ObjectChunk, IncomingPush, RefUpdate } from "./port.ts"
import { MAX_CHUNK_BYTES } from "./port.ts"
import type { GitCommand, GitRuntime, GitProcess } from "./process.ts"
import { gitExitError, gitExitsWithZero, gitOutput, startGit } from "./process.ts"

/** Where a push waits. */
interface QuarantinedPush {
  readonly runtime: GitRuntime
  readonly folder: string
  /** Absolute; null where it brought nothing. */
  readonly quarantine: string | null
  readonly updates: readonly RefUpdate[]
  readonly readHead: IncomingPush["readHead"]
  readonly senderHead: string | null
  /** Aborted when nobody waits for it any more: then reading it fails. */
  readonly signal: AbortSignal
}

/** A push that waits. */
export function openIncomingPush(waiting: QuarantinedPush): IncomingPush {
  const { updates, readHead, senderHead } = waiting
  return {
    updates,
    readHead,
    senderHead,
    signal: waiting.signal,
    listNewObjects: () => listNewObjects(waiting),
    readObjects: (ids) => readObjects(waiting, ids),
    listNewCommits: () => listNewCommits(waiting),
    readFolders: (commits, path) => readFolders(waiting, commits, path),
    findPath: (blob) => findPath(waiting, blob),
    isAncestor: (older, newer) =>
      gitExitsWithZero(
        waiting.runtime,
        quarantineCommand(waiting, ["merge-base", "--is-ancestor", older, newer]),
      ),
  }
}

/** A command that sees the repository's objects and those that wait. */
function quarantineCommand(
  { folder, quarantine, signal }: QuarantinedPush,
  args: readonly string[],
): GitCommand {
  if (quarantine === null) return { folder, args, signal }
  const alternates = join(folder, "objects")
  const env = {
    GIT_OBJECT_DIRECTORY: quarantine,
    GIT_ALTERNATE_OBJECT_DIRECTORIES: alternates,
  }
  return { folder, args, env, signal }
}

/** Of more commits it is asked first which folders they have: most have the same one. */
const MAX_SINGLE_LOOKUPS = 8

const BATCH_CHECK_FORMAT = "--batch-check=%(objectname) %(objecttype) %(objectsize)"

/**
 * What the pack brought, without what it was completed by: objects that were there before, and checked
 * then, lie in it where it was sent as differences to them.
 */
async function* listNewObjects(waiting: QuarantinedPush): AsyncGenerator<PushedObject> {
  const { runtime, folder, quarantine, signal } = waiting
  if (quarantine === null) return
  const listing = ["cat-file", "--batch-all-objects", "--unordered", "--buffer", BATCH_CHECK_FORMAT]
  const there: GitCommand = {
    folder,
    args: listing,
    env: { GIT_OBJECT_DIRECTORY: quarantine },
    signal,
  }
  const asked: PushedObject[] = []
  const ids = async function* () {
    for await (const line of gitOutputLines(runtime, there)) {
      const [id = "", type, size] = line.split(" ")
      asked.push({ id, type: type as PushedObject["type"], size: Number(size) })
      yield `${id}\n`
    }
  }
  const before: GitCommand = { folder, args: ["cat-file", "--batch-check"], signal }
  for await (const line of gitOutputLines(runtime, before, ids())) {
    const one = asked.shift()
    if (one === undefined) throw new Error("git answered what it was not asked")
    if (line === `${one.id} missing`) yield one
  }
}

async function* readObjects(
  waiting: QuarantinedPush,
  ids: Iterable<string>,
): AsyncGenerator<ObjectChunk> {
  for await (const { requestedName, found, readAll, readChunk } of readBatch(waiting, ids)) {
    if (found === null) throw new Error(`git does not find the object ${requestedName}`)
    if (found.size <= MAX_CHUNK_BYTES) {
      yield { ...found, offset: 0, bytes: await readAll() }
      continue
    }
    for (let offset = 0; offset < found.size;) {
      const bytes = await readChunk()
      yield { ...found, offset, bytes }
      offset += bytes.length
    }
  }
}

/** An object that was asked for by its name; its bytes are to be read before the next one is asked for. */
interface BatchObject {
  readonly requestedName: string
  /** Null where it is not there. */
  readonly found: PushedObject | null
  readonly readAll: () => Promise<Buffer>
  /** The next of its bytes. */
  readonly readChunk: () => Promise<Buffer>
}

/** The objects of these names, in their order. */
async function* readBatch(
  waiting: QuarantinedPush,
  names: Iterable<string>,
): AsyncGenerator<BatchObject> {
  const asked: string[] = []
  const input = async function* () {
    for (const name of names) {
      asked.push(name)
      yield `${name}\n`
    }
  }
  const command = quarantineCommand(waiting, ["cat-file", "--batch", "--buffer"])
  const reader = startReader(waiting.runtime, command, input())
  const read = { readAll: () => reader.bytes(0), readChunk: () => reader.bytes(0) }
  try {
    for (;;) {
      const head = await reader.line()
      if (head === null) break
      const name = asked.shift() ?? ""
      if (head === `${name} missing`) {
        yield { requestedName: name, found: null, ...read }
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
      const readAll = async () => taken(await reader.bytes(left))
      const readChunk = async () => taken(await reader.chunk(Math.min(left, MAX_CHUNK_BYTES)))
      yield {
        requestedName: name,
        found: { id, type: type as PushedObject["type"], size },
        readAll,
        readChunk,
      }
      // What nobody wanted, and the end of its line.
      while (left > 0) await readChunk()
      await reader.bytes(1)
    }
    await reader.end()
  } finally {
    reader.stop()
  }
}

/** What refs would reach that none reaches now: also what was brought before, and lay there unseen. */
async function* listNewCommits(waiting: QuarantinedPush) {
  const tips = waiting.updates.flatMap((update) => update.new ?? [])
  if (tips.length === 0) return
  const command = quarantineCommand(waiting, ["rev-list", "--parents", "--stdin", "--not", "--all"])
  const input = tips.map((id) => `${id}\n`)
  for await (const line of gitOutputLines(waiting.runtime, command, input)) {
    const [id = "", ...parents] = line.split(" ")
    yield { id, parents }
  }
}

async function* readFolders(waiting: QuarantinedPush, commits: readonly string[], path: string) {
  const names = commits.map((commit) => `${commit}:${path}`)
  const commitOf = (name: string) => name.slice(0, name.indexOf(":"))
  if (commits.length <= MAX_SINGLE_LOOKUPS) {
    for await (const { requestedName, found, readAll } of readBatch(waiting, names)) {
      const entries = found?.type === "tree" ? parseTree(await readAll()) : null
      yield { commits: [commitOf(requestedName)], entries }
    }
    return
  }
  const byTree = new Map<string, string[]>()
  const without: string[] = []
  const asked = names.values()
  const input = names.map((name) => `${name}\n`)
  for await (const line of gitOutputLines(
    waiting.runtime,
    quarantineCommand(waiting, ["cat-file", BATCH_CHECK_FORMAT]),
    input,
  )) {
    const commit = commitOf(asked.next().value ?? "")
    const [id = "", type] = line.split(" ")
    if (type !== "tree") without.push(commit)
    else if (byTree.get(id)?.push(commit) === undefined) byTree.set(id, [commit])
  }
  yield { commits: without, entries: null }
  for await (const { requestedName: id, found, readAll } of readBatch(waiting, byTree.keys())) {
    if (found === null) throw new Error(`git does not find the tree ${id}`)
    yield { commits: byTree.get(id) ?? [], entries: parseTree(await readAll()) }
  }
}

/** The entries of a tree as git stores it: `<mode> <name>\0<20 bytes>`, one behind the other. */
function parseTree(tree: Buffer): readonly (GitTreeEntry & { readonly name: string })[] {
  const entries: (GitTreeEntry & { readonly name: string })[] = []
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

async function findPath(waiting: QuarantinedPush, blob: string): Promise<string | null> {
  const tips = waiting.updates.flatMap((update) => update.new ?? [])
  const command = quarantineCommand(waiting, ["rev-list", "--objects", "--stdin", "--not", "--all"])
  const input = tips.map((id) => `${id}\n`)
  for await (const line of gitOutputLines(waiting.runtime, command, input)) {
    if (line.startsWith(`${blob} `)) return line.slice(blob.length + 1)
  }
  return null
}

/** The lines that a command writes. @throws GitFailed where it fails */
export async function* gitOutputLines(
  machine: GitRuntime,
  command: GitCommand,
  input: Iterable<string> | AsyncIterable<string> = [],
): AsyncGenerator<string> {
  const reader = startReader(machine, command, input)
  try {
    for (let line = await reader.line(); line !== null; line = await reader.line()) yield line
    await reader.end()
  } finally {
    reader.stop()
  }
}

/** A command that is given its input while its output is read. */
function startReader(
  machine: GitRuntime,
  command: GitCommand,
  input: Iterable<string> | AsyncIterable<string>,
) {
  const process = startGit(machine, command)
  const given = writeInput(process, input)
  // It is waited for at the end; whoever stops before is not told.
  given.catch(() => process.kill())
  return {
    ...byteReader(process.stdout as AsyncIterable<Uint8Array>),
    end: async () => {
      await given
      const ended = await process.exit
      if (ended.code !== 0) throw gitExitError(command, ended)
    },
    stop: () => {
      process.kill()
      process.stdout.destroy()
    },
  }
}

/** How much is given at once. */
const WRITE_BUFFER_LENGTH = 16 * 1024

async function writeInput(
  { stdin, exit }: GitProcess,
  input: Iterable<string> | AsyncIterable<string>,
): Promise<void> {
  let text = ""
  const flush = async () => {
    const hasRoom = stdin.destroyed || stdin.write(text)
    text = ""
    if (hasRoom) return
    const { promise: drained, resolve } = Promise.withResolvers<void>()
    stdin.once("drain", resolve)
    await Promise.race([drained, exit])
  }
  for await (const piece of input) {
    text += piece
    if (text.length >= WRITE_BUFFER_LENGTH) await flush()
  }
  await flush()
  stdin.end()
}

/** One object by its name, where nothing waits; null where it is not there. */
export async function gitObjectType(
  machine: GitRuntime,
  folder: string,
  name: string,
): Promise<string | null> {
  const command = { folder, args: ["cat-file", "--batch-check=%(objecttype)"] }
  const line = (await gitOutput(machine, command, `${name}\n`)).toString("utf8").trim()
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
  readonly chunk: (most: number) => Promise<Buffer>
  /** All that comes still; nothing is read by the others from then on. */
  readonly rest: () => AsyncIterable<Uint8Array>
}

/** A name may have 4,096 bytes, and stands in a line with little beside it. */
const MAX_LINE_BYTES = 64 * 1024

/** Reads from a stream. */
export function byteReader(stream: AsyncIterable<Uint8Array>): ByteReader {
  const pieces = stream[Symbol.asyncIterator]()
  let rest: Buffer = Buffer.alloc(0)
  /** Reads on; null at the end. */
  const more = async (): Promise<Buffer | null> => {
    const next = await pieces.next()
    return next.done === true ? null : Buffer.from(next.value)
  }
  const chunk = async (most: number): Promise<Buffer> => {
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
    chunk,
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
        if (rest.length > MAX_LINE_BYTES) throw new Error("git wrote a line that is too long")
        const piece = await more()
        if (piece !== null) rest = Buffer.concat([rest, piece])
        else if (rest.length === 0) return null
        else throw new Error("git wrote a line without an end")
      }
    },
    bytes: async (count) => {
      const taken: Buffer[] = []
      for (let missing = count; missing > 0;) {
        const part = await chunk(missing)
        taken.push(part)
        missing -= part.length
      }
      return taken.length === 1 ? (taken[0] as Buffer) : Buffer.concat(taken, count)
    },
  }
}
