/**
 * Receives pushes: git unpacks into a quarantine, and its hook asks this process before any ref
 * moves.
 */
import { rm, readdir, stat } from "node:fs/promises"
import { relative, sep, join } from "node:path"
import type { Duplex } from "node:stream"
import type { GitSessionTimeouts } from "./read-repository.ts"
import { relaySession, readHead } from "./read-repository.ts"
import { openIncomingPush, byteReader } from "./push-objects.ts"
import type { GitSession, IncomingPush, RefUpdate, PushVerdict } from "./port.ts"
import { GitFailed, FLUSH_PACKET, pktLine } from "./port.ts"
import type { GitCommand, GitRuntime } from "./process.ts"
import { startGit } from "./process.ts"

/** 200 updates take 60 KB; no push needs more than this. */
const MAX_HOOK_MESSAGE_LENGTH = 4 * 1024 * 1024

export interface ReceiveContext {
  readonly runtime: GitRuntime
  readonly timeouts: GitSessionTimeouts
  readonly folder: string
  readonly settings?: GitCommand["settings"]
  readonly env?: GitCommand["env"]
  /** The commit of the sender's `HEAD`, if known. */
  readonly senderHead?: string | null
}

/** Receives a push. @throws errors of `judge`; GitFailed */
export async function runReceivePack(
  { runtime, timeouts, folder, settings = [], env = {}, senderHead = null }: ReceiveContext,
  session: Pick<GitSession, "input" | "send" | "signal">,
  judge: (push: IncomingPush) => Promise<PushVerdict>,
): Promise<void> {
  const args = ["receive-pack", "--stateless-rpc", folder]
  const running = startGit(runtime, {
    folder,
    args,
    env,
    settings,
    isWrite: true,
    hasHookChannel: true,
  })
  const hook = running.hookChannel as Duplex
  const clientGone = new AbortController()
  const { signal } = clientGone
  let quarantine: string | null = null
  const judged = answerHook(hook, (message) => {
    const push = parseHookMessage(folder, message)
    ;({ quarantine } = push)
    const head = () => readHead({ runtime, folder })
    return judge(openIncomingPush({ runtime, folder, signal, readHead: head, senderHead, ...push }))
  })
  // Awaited below, after git has ended.
  judged.catch(() => undefined)
  let rejection: Buffer | null = null
  const input = checkCommands(session.input, (report) => {
    rejection = report
  })
  const ended = await relaySession(running, { ...session, input }, timeouts, () => {
    // A verdict that was already sent stays; a pending one is canceled.
    clientGone.abort()
    sendVerdict(hook, { ok: false, lines: [CLIENT_GONE_MESSAGE] })
  })
    .catch(async (error: unknown) => {
      if (rejection === null) throw error
      await session.send(rejection)
      return null
    })
    .finally(async () => {
      // Git removes the quarantine itself, unless it was killed.
      if (quarantine !== null) await rm(quarantine, { recursive: true, force: true })
    })
  // Wait until `judge` ends, so that its processes don't compete with the next push.
  if (signal.aborted) await judged.catch(() => undefined)
  if (ended === null || signal.aborted || (await judged) || ended.code === 0) return
  throw new GitFailed(`git receive-pack exited with ${ended.code}: ${ended.stderr.slice(0, 500)}`)
}

const CLIENT_GONE_MESSAGE =
  "The connection ended or the server is stopping; nothing was changed. Push again."
const INTERNAL_ERROR_MESSAGE = "Internal error; nothing was changed. Push again later."

/**
 * Answers the hook; returns whether it asked. @throws errors of `judge`, after rejecting the push
 */
async function answerHook(
  hook: Duplex,
  judge: (message: string) => Promise<PushVerdict>,
): Promise<boolean> {
  const message = await readHookMessage(hook)
  if (message === null) return false
  try {
    sendVerdict(hook, await judge(message))
    return true
  } catch (error) {
    sendVerdict(hook, { ok: false, lines: [INTERNAL_ERROR_MESSAGE] })
    throw error
  }
}

/** Sends the verdict to the hook, at most once. */
function sendVerdict(hook: Duplex, verdict: PushVerdict): void {
  if (hook.writableEnded) return
  hook.end(
    verdict.ok ? "ok\n" : ["no", ...verdict.lines.map(escapeControlCharacters), ""].join("\n"),
  )
}

/** Reads the hook's message up to its empty line; null if it ends before that. */
async function readHookMessage(hook: Duplex): Promise<string | null> {
  const { promise, resolve, reject } = Promise.withResolvers<string | null>()
  let message = ""
  hook.setEncoding("utf8").on("data", (text: string) => {
    message += text
    if (message.endsWith("\n\n")) resolve(message.slice(0, -2))
    else if (message.length > MAX_HOOK_MESSAGE_LENGTH)
      reject(
        new GitFailed(`the hook's message is longer than ${MAX_HOOK_MESSAGE_LENGTH} characters`),
      )
  })
  hook.once("close", () => resolve(null))
  return promise
}

/** Parses the hook's message; only git's own quarantine folders are accepted. */
function parseHookMessage(
  folder: string,
  message: string,
): { readonly quarantine: string | null; readonly updates: readonly RefUpdate[] } {
  const [first = "", ...lines] = message.split("\n")
  const path = /^quarantine (.*)$/s.exec(first)?.[1]
  if (path === undefined) throw new GitFailed("the hook's message does not name the quarantine")
  const [objects, name, ...below] = relative(folder, path).split(sep)
  const isQuarantine =
    objects === "objects" && below.length === 0 && /^tmp_objdir-incoming-\w+$/.test(name ?? "")
  if (path !== "" && !isQuarantine)
    throw new GitFailed("the quarantine is outside of the repository")
  return { quarantine: path === "" ? null : path, updates: lines.map(parseRefUpdate) }
}

const NO_OBJECT = "0".repeat(40)

function parseRefUpdate(line: string): RefUpdate {
  const [, before, after, ref] = /^([0-9a-f]{40}) ([0-9a-f]{40}) (.+)$/s.exec(line) ?? []
  if (before === undefined || after === undefined || ref === undefined) {
    throw new GitFailed("the hook's message has an invalid ref update")
  }
  const idOf = (id: string) => (id === NO_OBJECT ? null : id)
  return { ref, old: idOf(before), new: idOf(after) }
}

/** Escapes control characters, because file names could change the terminal. */
function escapeControlCharacters(line: string): string {
  return line.replaceAll(
    /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  )
}

/** Older files are abandoned: no push takes this long. */
const STALE_AFTER_MS = 24 * 3_600_000

/** Whether a file protects a push's pack while its refs move; git does not repack such a pack. */
export const isKeepFile = (name: string): boolean => /^pack-[0-9a-f]{40}\.keep$/.test(name)

/** Removes what abandoned pushes left: quarantines and keep files. */
export async function removeStaleFiles(folder: string): Promise<void> {
  await removeStale(join(folder, "objects"), (name) => name.startsWith("tmp_objdir-"))
  await removeStale(join(folder, "objects", "pack"), isKeepFile)
}

/** Removes abandoned files in all repositories: quarantines, keep files and incomplete folders. */
export async function sweepStaleFiles(codeDir: string): Promise<void> {
  await removeStale(codeDir, (name) => /\.(erased|new-[0-9a-f-]+)$/.test(name))
  for (const name of await listFileNames(codeDir)) {
    if (/^[0-9a-f]+$/.test(name)) await removeStaleFiles(join(codeDir, name))
  }
}

async function removeStale(folder: string, isAbandoned: (name: string) => boolean): Promise<void> {
  for (const name of (await listFileNames(folder)).filter(isAbandoned)) {
    const path = join(folder, name)
    const since = await stat(path).catch(nullIfMissing)
    if (since === null || Date.now() - since.mtimeMs <= STALE_AFTER_MS) continue
    await rm(path, { recursive: true, force: true })
  }
}

/**
 * The names in a folder; empty if it is missing, for example because the repository was erased
 * meanwhile.
 */
export const listFileNames = async (folder: string): Promise<readonly string[]> =>
  (await readdir(folder).catch(nullIfMissing)) ?? []

function nullIfMissing(error: unknown): null {
  if (error instanceof Error && "code" in error && error.code === "ENOENT") return null
  throw error
}

// Checks the beginning of a push: the ref updates, line by line up to the first flush. Git holds
// all of it in memory and accepts signed pushes, whose certificate it would store before the hook
// runs and pass to gpg.

/** More than the 5,000 refs of a backup, whatever their names. */
const MAX_COMMANDS_BYTES = 2 * 1024 * 1024
/** Longer than any file name that file systems allow. */
const MAX_LINE_BYTES = 8 * 1024

const COMMAND_LINE = /^(?:[0-9a-f]{40} [0-9a-f]{40} |shallow [0-9a-f]{40})/
const SIDE_BAND_CAPABILITY = /[\0 ]side-band-64k(?: |\n|$)/

const SIGNED_PUSH_MESSAGE = "signed pushes are not supported; push without --signed"
const TOO_MANY_REFS_MESSAGE =
  "too many refs in one push (limit 2 MiB), or a ref name longer than 8 KiB; push them in parts"
const NOT_A_PUSH_MESSAGE = "this is not a git push"

/**
 * Passes on a push. After an invalid beginning nothing more is passed on, so that git aborts; the
 * rest is still read, because the client reads the answer only at the end.
 *
 * @param onInvalid receives the answer in git's protocol
 */
async function* checkCommands(
  input: AsyncIterable<Uint8Array>,
  onInvalid: (answer: Buffer) => void,
): AsyncGenerator<Uint8Array> {
  const reader = byteReader(input)
  let hasSideBand = false
  for (let totalBytes = 0; ;) {
    const start = await reader.bytes(4)
    if (start.equals(FLUSH_PACKET)) {
      yield start
      break
    }
    const length = parseLength(start)
    totalBytes += length
    const isTooLong = length > MAX_LINE_BYTES || totalBytes > MAX_COMMANDS_BYTES
    const line = length > 4 && !isTooLong ? await reader.bytes(length - 4) : null
    const text = line?.toString("latin1") ?? ""
    hasSideBand ||= SIDE_BAND_CAPABILITY.test(text)
    if (line === null || !COMMAND_LINE.test(text)) {
      onInvalid(
        rejectionReport(
          isTooLong
            ? TOO_MANY_REFS_MESSAGE
            : text.startsWith("push-cert")
              ? SIGNED_PUSH_MESSAGE
              : NOT_A_PUSH_MESSAGE,
          hasSideBand,
        ),
      )
      // Empty chunks show that the client is still sending.
      for await (const chunk of reader.rest()) yield chunk.subarray(0, 0)
      return
    }
    yield start
    yield line
  }
  yield* reader.rest()
}

/** The length of a line, including its four digits; 0 if they are invalid. */
function parseLength(start: Buffer): number {
  const digits = start.toString("latin1")
  return /^[0-9a-f]{4}$/i.test(digits) ? Number.parseInt(digits, 16) : 0
}

function rejectionReport(reason: string, hasSideBand: boolean): Buffer {
  const report = Buffer.concat([pktLine(`unpack ${reason}\n`), FLUSH_PACKET])
  if (!hasSideBand) return report
  return Buffer.concat([pktLine(Buffer.concat([Buffer.from([1]), report])), FLUSH_PACKET])
}
