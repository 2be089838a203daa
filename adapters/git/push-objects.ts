/**
 * Reads a push's objects from its quarantine, with the repository's own objects. Objects are listed
 * rather than walked from the refs, because unreferenced objects can be fetched, too.
 */
import { join } from "node:path"
import type { GitTreeEntry, PushedObject, ObjectChunk, IncomingPush, RefUpdate } from "./port.ts"
import { MAX_CHUNK_BYTES } from "./port.ts"
import type { GitCommand, GitRuntime, GitProcess } from "./process.ts"
import { gitExitError, gitExitsWithZero, gitOutput, startGit } from "./process.ts"

interface QuarantinedPush {
  readonly runtime: GitRuntime
  readonly folder: string
  /** Absolute; null if the push has no objects. */
  readonly quarantine: string | null
  readonly updates: readonly RefUpdate[]
  readonly readHead: IncomingPush["readHead"]
  readonly senderHead: string | null
  /** Aborted when the caller no longer waits; reads then fail. */
  readonly signal: AbortSignal
}

/** Opens a push in quarantine. */
export function openIncomingPush(push: QuarantinedPush): IncomingPush {
  const { updates, readHead, senderHead } = push
  return {
    updates,
    readHead,
    senderHead,
    signal: push.signal,
    listNewObjects: () => listNewObjects(push),
    readObjects: (ids) => readObjects(push, ids),
    listNewCommits: () => listNewCommits(push),
    readFolders: (commits, path) => readFolders(push, commits, path),
    findPath: (blob) => findPath(push, blob),
    isAncestor: (older, newer) =>
      gitExitsWithZero(
        push.runtime,
        quarantineCommand(push, ["merge-base", "--is-ancestor", older, newer]),
      ),
  }
}

/** A command that sees the objects of the repository and of the quarantine. */
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

/** Above this many commits, only distinct trees are read, because most commits share one. */
const MAX_SINGLE_LOOKUPS = 8

const BATCH_CHECK_FORMAT = "--batch-check=%(objectname) %(objecttype) %(objectsize)"

/**
 * Lists the pack's objects without those that git added to complete deltas, which the repository
 * already has.
 */
async function* listNewObjects(push: QuarantinedPush): AsyncGenerator<PushedObject> {
  const { runtime, folder, quarantine, signal } = push
  if (quarantine === null) return
  const listing = ["cat-file", "--batch-all-objects", "--unordered", "--buffer", BATCH_CHECK_FORMAT]
  const quarantined: GitCommand = {
    folder,
    args: listing,
    env: { GIT_OBJECT_DIRECTORY: quarantine },
    signal,
  }
  const pending: PushedObject[] = []
  const ids = async function* () {
    for await (const line of gitOutputLines(runtime, quarantined)) {
      const [id = "", type, size] = line.split(" ")
      pending.push({ id, type: type as PushedObject["type"], size: Number(size) })
      yield `${id}\n`
    }
  }
  const existing: GitCommand = { folder, args: ["cat-file", "--batch-check"], signal }
  for await (const line of gitOutputLines(runtime, existing, ids())) {
    const one = pending.shift()
    if (one === undefined) throw new Error("git answered more objects than were requested")
    if (line === `${one.id} missing`) yield one
  }
}

async function* readObjects(
  push: QuarantinedPush,
  ids: Iterable<string>,
): AsyncGenerator<ObjectChunk> {
  for await (const { requestedName, found, readAll, readChunk } of readBatch(push, ids)) {
    if (found === null) throw new Error(`git did not find the object ${requestedName}`)
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

/** A requested object; its bytes must be read before the next one. */
interface BatchObject {
  readonly requestedName: string
  /** Null if it does not exist. */
  readonly found: PushedObject | null
  readonly readAll: () => Promise<Buffer>
  /** The next bytes. */
  readonly readChunk: () => Promise<Buffer>
}

/** Reads objects by name, in order. */
async function* readBatch(
  push: QuarantinedPush,
  names: Iterable<string>,
): AsyncGenerator<BatchObject> {
  const pending: string[] = []
  const input = async function* () {
    for (const name of names) {
      pending.push(name)
      yield `${name}\n`
    }
  }
  const command = quarantineCommand(push, ["cat-file", "--batch", "--buffer"])
  const reader = startReader(push.runtime, command, input())
  const read = { readAll: () => reader.bytes(0), readChunk: () => reader.bytes(0) }
  try {
    for (;;) {
      const header = await reader.line()
      if (header === null) break
      const name = pending.shift() ?? ""
      if (header === `${name} missing`) {
        yield { requestedName: name, found: null, ...read }
        continue
      }
      const [id = "", type, length] = header.split(" ")
      const size = Number(length)
      if (!Number.isSafeInteger(size)) throw new Error(`git answered an invalid header: ${header}`)
      let left = size
      const consumed = (bytes: Buffer): Buffer => {
        left -= bytes.length
        return bytes
      }
      const readAll = async () => consumed(await reader.bytes(left))
      const readChunk = async () => consumed(await reader.chunk(Math.min(left, MAX_CHUNK_BYTES)))
      yield {
        requestedName: name,
        found: { id, type: type as PushedObject["type"], size },
        readAll,
        readChunk,
      }
      // Skips unread bytes and the final newline.
      while (left > 0) await readChunk()
      await reader.bytes(1)
    }
    await reader.end()
  } finally {
    reader.stop()
  }
}

/** Commits that become reachable by the push, including unreachable ones that already exist. */
async function* listNewCommits(push: QuarantinedPush) {
  const tips = push.updates.flatMap((update) => update.new ?? [])
  if (tips.length === 0) return
  const command = quarantineCommand(push, ["rev-list", "--parents", "--stdin", "--not", "--all"])
  const input = tips.map((id) => `${id}\n`)
  for await (const line of gitOutputLines(push.runtime, command, input)) {
    const [id = "", ...parents] = line.split(" ")
    yield { id, parents }
  }
}

async function* readFolders(push: QuarantinedPush, commits: readonly string[], path: string) {
  const names = commits.map((commit) => `${commit}:${path}`)
  const commitOf = (name: string) => name.slice(0, name.indexOf(":"))
  if (commits.length <= MAX_SINGLE_LOOKUPS) {
    for await (const { requestedName, found, readAll } of readBatch(push, names)) {
      const entries = found?.type === "tree" ? parseTree(await readAll()) : null
      yield { commits: [commitOf(requestedName)], entries }
    }
    return
  }
  const byTree = new Map<string, string[]>()
  const withoutFolder: string[] = []
  const pending = names.values()
  const input = names.map((name) => `${name}\n`)
  for await (const line of gitOutputLines(
    push.runtime,
    quarantineCommand(push, ["cat-file", BATCH_CHECK_FORMAT]),
    input,
  )) {
    const commit = commitOf(pending.next().value ?? "")
    const [id = "", type] = line.split(" ")
    if (type !== "tree") withoutFolder.push(commit)
    else if (byTree.get(id)?.push(commit) === undefined) byTree.set(id, [commit])
  }
  yield { commits: withoutFolder, entries: null }
  for await (const { requestedName: id, found, readAll } of readBatch(push, byTree.keys())) {
    if (found === null) throw new Error(`git did not find the tree ${id}`)
    yield { commits: byTree.get(id) ?? [], entries: parseTree(await readAll()) }
  }
}

/** Parses a tree in git's format: repeated `<mode> <name>\\0<20 bytes>`. */
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

async function findPath(push: QuarantinedPush, blob: string): Promise<string | null> {
  const tips = push.updates.flatMap((update) => update.new ?? [])
  const command = quarantineCommand(push, ["rev-list", "--objects", "--stdin", "--not", "--all"])
  const input = tips.map((id) => `${id}\n`)
  for await (const line of gitOutputLines(push.runtime, command, input)) {
    if (line.startsWith(`${blob} `)) return line.slice(blob.length + 1)
  }
  return null
}

/** The lines of a command's output. @throws GitFailed if it fails */
export async function* gitOutputLines(
  runtime: GitRuntime,
  command: GitCommand,
  input: Iterable<string> | AsyncIterable<string> = [],
): AsyncGenerator<string> {
  const reader = startReader(runtime, command, input)
  try {
    for (let line = await reader.line(); line !== null; line = await reader.line()) yield line
    await reader.end()
  } finally {
    reader.stop()
  }
}

/** Starts a command whose input is written while its output is read. */
function startReader(
  runtime: GitRuntime,
  command: GitCommand,
  input: Iterable<string> | AsyncIterable<string>,
) {
  const process = startGit(runtime, command)
  const written = writeInput(process, input)
  // `end` awaits this; a reader that stops earlier ignores it.
  written.catch(() => process.kill())
  return {
    ...byteReader(process.stdout as AsyncIterable<Uint8Array>),
    end: async () => {
      await written
      const ended = await process.exit
      if (ended.code !== 0) throw gitExitError(command, ended)
    },
    stop: () => {
      process.kill()
      process.stdout.destroy()
    },
  }
}

/** Characters per write. */
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
  for await (const chunk of input) {
    text += chunk
    if (text.length >= WRITE_BUFFER_LENGTH) await flush()
  }
  await flush()
  stdin.end()
}

/** The type of an object, without a quarantine; null if it does not exist. */
export async function gitObjectType(
  runtime: GitRuntime,
  folder: string,
  name: string,
): Promise<string | null> {
  const command = { folder, args: ["cat-file", "--batch-check=%(objecttype)"] }
  const line = (await gitOutput(runtime, command, `${name}\n`)).toString("utf8").trim()
  return line.endsWith(" missing") ? null : line
}

const NEWLINE = 0x0a

interface ByteReader {
  /** The next line without its newline; null at the end. @throws Error if it is too long */
  readonly line: () => Promise<string | null>
  /** The next `count` bytes. @throws Error if fewer arrive */
  readonly bytes: (count: number) => Promise<Buffer>
  /** The next available bytes, at least one and at most `maxBytes`. @throws Error at the end */
  readonly chunk: (maxBytes: number) => Promise<Buffer>
  /** All remaining bytes; the other methods must not be used afterwards. */
  readonly rest: () => AsyncIterable<Uint8Array>
}

/** A line has a name of up to 4,096 bytes and little else. */
const MAX_LINE_BYTES = 64 * 1024

/** Creates a reader of a stream. */
export function byteReader(stream: AsyncIterable<Uint8Array>): ByteReader {
  const chunks = stream[Symbol.asyncIterator]()
  let rest: Buffer = Buffer.alloc(0)
  /** The next chunk; null at the end. */
  const more = async (): Promise<Buffer | null> => {
    const next = await chunks.next()
    return next.done === true ? null : Buffer.from(next.value)
  }
  const chunk = async (maxBytes: number): Promise<Buffer> => {
    if (rest.length === 0) {
      const data = await more()
      if (data === null) throw new Error(`git wrote ${maxBytes} bytes too few`)
      rest = data
    }
    const part = rest.subarray(0, maxBytes)
    rest = rest.subarray(part.length)
    return part
  }
  return {
    chunk,
    rest: async function* () {
      yield rest
      for (let data = await more(); data !== null; data = await more()) yield data
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
        const data = await more()
        if (data !== null) rest = Buffer.concat([rest, data])
        else if (rest.length === 0) return null
        else throw new Error("git wrote a line without an end")
      }
    },
    bytes: async (count) => {
      const consumed: Buffer[] = []
      for (let missing = count; missing > 0;) {
        const part = await chunk(missing)
        consumed.push(part)
        missing -= part.length
      }
      return consumed.length === 1 ? (consumed[0] as Buffer) : Buffer.concat(consumed, count)
    },
  }
}
