/** Takes a push: git unpacks it into a quarantine, and its hook asks us before a ref moves. */
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

/** 200 updates have 60 KB; more than this is no push of anybody. */
const MAX_HOOK_MESSAGE_LENGTH = 4 * 1024 * 1024

/** Where pushes are taken. */
export interface ReceiveContext {
  readonly runtime: GitRuntime
  readonly limits: GitSessionTimeouts
  readonly folder: string
  readonly settings?: GitCommand["settings"]
  readonly env?: GitCommand["env"]
  /** The commit of the sender's own `HEAD`, where it is known. */
  readonly senderHead?: string | null
}

/** Takes a push. @throws what `judge` throws; GitFailed */
export async function runReceivePack(
  { runtime, limits, folder, settings = [], env = {}, senderHead = null }: ReceiveContext,
  conversation: Pick<GitSession, "input" | "send" | "signal">,
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
  const talk = running.hookChannel as Duplex
  const leaving = new AbortController()
  const { signal } = leaving
  let quarantine: string | null = null
  const judged = answerHook(talk, (told) => {
    const waiting = parseHookMessage(folder, told)
    ;({ quarantine } = waiting)
    const head = () => readHead({ runtime, folder })
    return judge(
      openIncomingPush({ runtime, folder, signal, readHead: head, senderHead, ...waiting }),
    )
  })
  // It is looked at below, where git has ended.
  judged.catch(() => undefined)
  let bad: Buffer | null = null
  const input = checkCommands(conversation.input, (found) => {
    bad = found
  })
  const ended = await relaySession(running, { ...conversation, input }, limits, () => {
    // A yes that was said stands; what is judged still is given up.
    leaving.abort()
    sendVerdict(talk, { ok: false, lines: [CLIENT_GONE_MESSAGE] })
  })
    .catch(async (error: unknown) => {
      if (bad === null) throw error
      await conversation.send(bad)
      return null
    })
    .finally(async () => {
      // Git takes it away by itself, unless it was killed.
      if (quarantine !== null) await rm(quarantine, { recursive: true, force: true })
    })
  // What it takes of the machine is over before the next push is let in.
  if (signal.aborted) await judged.catch(() => undefined)
  if (ended === null || signal.aborted || (await judged) || ended.code === 0) return
  throw new GitFailed(`git receive-pack exited with ${ended.code}: ${ended.stderr.slice(0, 500)}`)
}

const CLIENT_GONE_MESSAGE =
  "The client went away, or the server is about to stop; nothing was changed."
const INTERNAL_ERROR_MESSAGE =
  "Something went wrong on our side; nothing was changed. Push again later."

/** Answers the hook. Whether it asked. @throws what `judge` throws, once the hook was told no */
async function answerHook(
  talk: Duplex,
  judge: (told: string) => Promise<PushVerdict>,
): Promise<boolean> {
  const told = await readHookMessage(talk)
  if (told === null) return false
  try {
    sendVerdict(talk, await judge(told))
    return true
  } catch (error) {
    sendVerdict(talk, { ok: false, lines: [INTERNAL_ERROR_MESSAGE] })
    throw error
  }
}

/** Answers the hook, once. */
function sendVerdict(talk: Duplex, verdict: PushVerdict): void {
  if (talk.writableEnded) return
  talk.end(
    verdict.ok ? "ok\n" : ["no", ...verdict.lines.map(escapeControlCharacters), ""].join("\n"),
  )
}

/** What the hook says, up to its empty line; null where it ends before that. */
async function readHookMessage(talk: Duplex): Promise<string | null> {
  const { promise, resolve, reject } = Promise.withResolvers<string | null>()
  let told = ""
  talk.setEncoding("utf8").on("data", (text: string) => {
    told += text
    if (told.endsWith("\n\n")) resolve(told.slice(0, -2))
    else if (told.length > MAX_HOOK_MESSAGE_LENGTH) reject(new GitFailed("the hook said too much"))
  })
  talk.once("close", () => resolve(null))
  return promise
}

/** What a push wants and where it waits, as the hook has said it: nothing else is taken for a quarantine. */
function parseHookMessage(
  folder: string,
  told: string,
): { readonly quarantine: string | null; readonly updates: readonly RefUpdate[] } {
  const [first = "", ...lines] = told.split("\n")
  const path = /^quarantine (.*)$/s.exec(first)?.[1]
  if (path === undefined) throw new GitFailed("the hook does not say where the push waits")
  const [objects, name, ...below] = relative(folder, path).split(sep)
  const isOne =
    objects === "objects" && below.length === 0 && /^tmp_objdir-incoming-\w+$/.test(name ?? "")
  if (path !== "" && !isOne) throw new GitFailed("the push waits outside of its repository")
  return { quarantine: path === "" ? null : path, updates: lines.map(parseRefUpdate) }
}

const NO_OBJECT = "0".repeat(40)

function parseRefUpdate(line: string): RefUpdate {
  const [, before, after, ref] = /^([0-9a-f]{40}) ([0-9a-f]{40}) (.+)$/s.exec(line) ?? []
  if (before === undefined || after === undefined || ref === undefined) {
    throw new GitFailed("the hook named no update of a ref")
  }
  const idOf = (id: string) => (id === NO_OBJECT ? null : id)
  return { ref, old: idOf(before), new: idOf(after) }
}

/** A line that changes nothing of the terminal it is shown at: names of files may hold anything. */
function escapeControlCharacters(line: string): string {
  return line.replaceAll(
    /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  )
}

/** No push takes so long, nor anything else. */
const STALE_AFTER_MS = 24 * 3_600_000

/** Whether a file guards the pack of a push while its refs move: until it is gone, the pack is never packed anew. */
export const isKeepFile = (name: string): boolean => /^pack-[0-9a-f]{40}\.keep$/.test(name)

/** Takes away what pushes left that ended long ago: quarantines, and files that guard a pack. */
export async function removeStaleFiles(folder: string): Promise<void> {
  await removeStale(join(folder, "objects"), (name) => name.startsWith("tmp_objdir-"))
  await removeStale(join(folder, "objects", "pack"), isKeepFile)
}

/** Takes away what lies in the folder of all repositories since long ago: quarantines, half-made ones. */
export async function sweepStaleFiles(codeDir: string): Promise<void> {
  await removeStale(codeDir, (name) => /\.(erased|new-[0-9a-f-]+)$/.test(name))
  for (const name of await listFileNames(codeDir)) {
    if (/^[0-9a-f]+$/.test(name)) await removeStaleFiles(join(codeDir, name))
  }
}

async function removeStale(folder: string, isLeft: (name: string) => boolean): Promise<void> {
  for (const name of (await listFileNames(folder)).filter(isLeft)) {
    const path = join(folder, name)
    const since = await stat(path).catch(nullIfMissing)
    if (since === null || Date.now() - since.mtimeMs <= STALE_AFTER_MS) continue
    await rm(path, { recursive: true, force: true })
  }
}

/** The names in a folder; none where it is gone, as that of a repository that is erased meanwhile. */
export const listFileNames = async (folder: string): Promise<readonly string[]> =>
  (await readdir(folder).catch(nullIfMissing)) ?? []

function nullIfMissing(error: unknown): null {
  if (error instanceof Error && "code" in error && error.code === "ENOENT") return null
  throw error
}

// What a push begins with: the refs that it wants to move, line by line up to the first flush. Git holds all
// of it in memory, and takes more than is served here: a signed push would leave its certificate among the
// objects before the hook is asked, and have the machine's gpg read it.

/** The 5,000 refs of a backup have less, whatever their names. */
const MAX_COMMANDS_BYTES = 2 * 1024 * 1024
/** Nobody's file system takes a name as long. */
const MAX_LINE_BYTES = 8 * 1024

const COMMAND_LINE = /^(?:[0-9a-f]{40} [0-9a-f]{40} |shallow [0-9a-f]{40})/
const SIDE_BAND_CAPABILITY = /[\0 ]side-band-64k(?: |\n|$)/

const SIGNED_PUSH_MESSAGE = "signed pushes are not taken here: push without --signed"
const TOO_MANY_REFS_MESSAGE = "too many refs in one push, or too long a name: push them in parts"
const NOT_A_PUSH_MESSAGE = "this is no push of git"

/**
 * Hands on what a push sends. Of one that begins badly no more is handed on, so that git gives it up
 * before anything is taken; the rest is taken off all the same, for its sender listens at the end only.
 *
 * @param onBad told of such a one, with what to answer in git's protocol
 */
async function* checkCommands(
  input: AsyncIterable<Uint8Array>,
  onBad: (answer: Buffer) => void,
): AsyncGenerator<Uint8Array> {
  const reader = byteReader(input)
  let hasSideBand = false
  for (let taken = 0; ;) {
    const start = await reader.bytes(4)
    if (start.equals(FLUSH_PACKET)) {
      yield start
      break
    }
    const length = parseLength(start)
    taken += length
    const isTooMuch = length > MAX_LINE_BYTES || taken > MAX_COMMANDS_BYTES
    const line = length > 4 && !isTooMuch ? await reader.bytes(length - 4) : null
    const text = line?.toString("latin1") ?? ""
    hasSideBand ||= SIDE_BAND_CAPABILITY.test(text)
    if (line === null || !COMMAND_LINE.test(text)) {
      onBad(
        rejectionReport(
          isTooMuch
            ? TOO_MANY_REFS_MESSAGE
            : text.startsWith("push-cert")
              ? SIGNED_PUSH_MESSAGE
              : NOT_A_PUSH_MESSAGE,
          hasSideBand,
        ),
      )
      // Nothing of it: but who sends is there.
      for await (const piece of reader.rest()) yield piece.subarray(0, 0)
      return
    }
    yield start
    yield line
  }
  yield* reader.rest()
}

/** The length of a line, with the four digits that say it; 0 where they do not. */
function parseLength(start: Buffer): number {
  const digits = start.toString("latin1")
  return /^[0-9a-f]{4}$/i.test(digits) ? Number.parseInt(digits, 16) : 0
}

/** A report that says why nothing was taken. */
function rejectionReport(why: string, hasSideBand: boolean): Buffer {
  const report = Buffer.concat([pktLine(`unpack ${why}\n`), FLUSH_PACKET])
  if (!hasSideBand) return report
  return Buffer.concat([pktLine(Buffer.concat([Buffer.from([1]), report])), FLUSH_PACKET])
}
