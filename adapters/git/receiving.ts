/** Takes a push: git unpacks it into a quarantine, and its hook asks us before a ref moves. */
import { rm, readdir, stat } from "node:fs/promises"
import { relative, sep, join } from "node:path"
import type { Duplex } from "node:stream"
import type { ConversationLimits } from "./reading.ts"
import { converse, headOf } from "./reading.ts"
import { pushOf, byteReader } from "./new-objects.ts"
import type { Conversation, Push, RefUpdate, Verdict } from "./port.ts"
import { GitFailed, FLUSH, pktLine } from "./port.ts"
import type { Command, Machine } from "./process.ts"
import { run } from "./process.ts"

/** 200 updates have 60 KB; more than this is no push of anybody. */
const MOST_TOLD = 4 * 1024 * 1024

/** Where pushes are taken. */
export interface Receiving {
  readonly machine: Machine
  readonly limits: ConversationLimits
  readonly folder: string
  readonly settings?: Command["settings"]
  readonly env?: Command["env"]
  /** The commit of the sender's own `HEAD`, where it is known. */
  readonly sentHead?: string | null
}

/** Takes a push. @throws what `judge` throws; GitFailed */
export async function receive(
  { machine, limits, folder, settings = [], env = {}, sentHead = null }: Receiving,
  conversation: Pick<Conversation, "input" | "send" | "signal">,
  judge: (push: Push) => Promise<Verdict>,
): Promise<void> {
  const args = ["receive-pack", "--stateless-rpc", folder]
  const running = run(machine, { folder, args, env, settings, writes: true, talks: true })
  const talk = running.talk as Duplex
  const leaving = new AbortController()
  const { signal: left } = leaving
  let quarantine: string | null = null
  const judged = judgeBy(talk, (told) => {
    const waiting = waitingIn(folder, told)
    ;({ quarantine } = waiting)
    const head = () => headOf({ machine, folder })
    return judge(pushOf({ machine, folder, left, head, sentHead, ...waiting }))
  })
  // It is looked at below, where git has ended.
  judged.catch(() => undefined)
  let bad: Buffer | null = null
  const input = withHeadChecked(conversation.input, (found) => {
    bad = found
  })
  const ended = await converse(running, { ...conversation, input }, limits, () => {
    // A yes that was said stands; what is judged still is given up.
    leaving.abort()
    answer(talk, { ok: false, lines: [GONE] })
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
  if (left.aborted) await judged.catch(() => undefined)
  if (ended === null || left.aborted || (await judged) || ended.code === 0) return
  throw new GitFailed(`git receive-pack exited with ${ended.code}: ${ended.stderr.slice(0, 500)}`)
}

const GONE = "The client went away, or the server is about to stop; nothing was changed."
const FAULT = "Something went wrong on our side; nothing was changed. Push again later."

/** Answers the hook. Whether it asked. @throws what `judge` throws, once the hook was told no */
async function judgeBy(talk: Duplex, judge: (told: string) => Promise<Verdict>): Promise<boolean> {
  const told = await toldBy(talk)
  if (told === null) return false
  try {
    answer(talk, await judge(told))
    return true
  } catch (error) {
    answer(talk, { ok: false, lines: [FAULT] })
    throw error
  }
}

/** Answers the hook, once. */
function answer(talk: Duplex, verdict: Verdict): void {
  if (talk.writableEnded) return
  talk.end(verdict.ok ? "ok\n" : ["no", ...verdict.lines.map(plain), ""].join("\n"))
}

/** What the hook says, up to its empty line; null where it ends before that. */
async function toldBy(talk: Duplex): Promise<string | null> {
  const { promise, resolve, reject } = Promise.withResolvers<string | null>()
  let told = ""
  talk.setEncoding("utf8").on("data", (text: string) => {
    told += text
    if (told.endsWith("\n\n")) resolve(told.slice(0, -2))
    else if (told.length > MOST_TOLD) reject(new GitFailed("the hook said too much"))
  })
  talk.once("close", () => resolve(null))
  return promise
}

/** What a push wants and where it waits, as the hook has said it: nothing else is taken for a quarantine. */
function waitingIn(
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
  return { quarantine: path === "" ? null : path, updates: lines.map(updateOf) }
}

const NO_OBJECT = "0".repeat(40)

function updateOf(line: string): RefUpdate {
  const [, before, after, ref] = /^([0-9a-f]{40}) ([0-9a-f]{40}) (.+)$/s.exec(line) ?? []
  if (before === undefined || after === undefined || ref === undefined) {
    throw new GitFailed("the hook named no update of a ref")
  }
  const idOf = (id: string) => (id === NO_OBJECT ? null : id)
  return { ref, old: idOf(before), new: idOf(after) }
}

/** A line that changes nothing of the terminal it is shown at: names of files may hold anything. */
function plain(line: string): string {
  return line.replaceAll(
    /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  )
}

/** No push takes so long, nor anything else. */
const LEFT_MS = 24 * 3_600_000

/** Whether a file guards the pack of a push while its refs move: until it is gone, the pack is never packed anew. */
export const isKeepFile = (name: string): boolean => /^pack-[0-9a-f]{40}\.keep$/.test(name)

/** Takes away what pushes left that ended long ago: quarantines, and files that guard a pack. */
export async function forgetLeft(folder: string): Promise<void> {
  await forget(join(folder, "objects"), (name) => name.startsWith("tmp_objdir-"))
  await forget(join(folder, "objects", "pack"), isKeepFile)
}

/** Takes away what lies in the folder of all repositories since long ago: quarantines, half-made ones. */
export async function sweepLeft(codeDir: string): Promise<void> {
  await forget(codeDir, (name) => /\.(erased|new-[0-9a-f-]+)$/.test(name))
  for (const name of await namesIn(codeDir)) {
    if (/^[0-9a-f]+$/.test(name)) await forgetLeft(join(codeDir, name))
  }
}

async function forget(folder: string, isLeft: (name: string) => boolean): Promise<void> {
  for (const name of (await namesIn(folder)).filter(isLeft)) {
    const path = join(folder, name)
    const since = await stat(path).catch(orGone)
    if (since === null || Date.now() - since.mtimeMs <= LEFT_MS) continue
    await rm(path, { recursive: true, force: true })
  }
}

/** The names in a folder; none where it is gone, as that of a repository that is erased meanwhile. */
export const namesIn = async (folder: string): Promise<readonly string[]> =>
  (await readdir(folder).catch(orGone)) ?? []

function orGone(error: unknown): null {
  if (error instanceof Error && "code" in error && error.code === "ENOENT") return null
  throw error
}

// What a push begins with: the refs that it wants to move, line by line up to the first flush. Git holds all
// of it in memory, and takes more than is served here: a signed push would leave its certificate among the
// objects before the hook is asked, and have the machine's gpg read it.

/** The 5,000 refs of a backup have less, whatever their names. */
const MOST_BYTES = 2 * 1024 * 1024
/** Nobody's file system takes a name as long. */
const MOST_LINE = 8 * 1024

const LINE = /^(?:[0-9a-f]{40} [0-9a-f]{40} |shallow [0-9a-f]{40})/
const SIDE_BAND = /[\0 ]side-band-64k(?: |\n|$)/

const SIGNED = "signed pushes are not taken here: push without --signed"
const TOO_MUCH = "too many refs in one push, or too long a name: push them in parts"
const NO_PUSH = "this is no push of git"

/**
 * Hands on what a push sends. Of one that begins badly no more is handed on, so that git gives it up
 * before anything is taken; the rest is taken off all the same, for its sender listens at the end only.
 *
 * @param onBad told of such a one, with what to answer in git's protocol
 */
async function* withHeadChecked(
  input: AsyncIterable<Uint8Array>,
  onBad: (answer: Buffer) => void,
): AsyncGenerator<Uint8Array> {
  const reader = byteReader(input)
  let hasSideBand = false
  for (let taken = 0; ;) {
    const start = await reader.bytes(4)
    if (start.equals(FLUSH)) {
      yield start
      break
    }
    const length = lengthIn(start)
    taken += length
    const isTooMuch = length > MOST_LINE || taken > MOST_BYTES
    const line = length > 4 && !isTooMuch ? await reader.bytes(length - 4) : null
    const text = line?.toString("latin1") ?? ""
    hasSideBand ||= SIDE_BAND.test(text)
    if (line === null || !LINE.test(text)) {
      onBad(
        saying(isTooMuch ? TOO_MUCH : text.startsWith("push-cert") ? SIGNED : NO_PUSH, hasSideBand),
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
function lengthIn(start: Buffer): number {
  const digits = start.toString("latin1")
  return /^[0-9a-f]{4}$/i.test(digits) ? Number.parseInt(digits, 16) : 0
}

/** A report that says why nothing was taken. */
function saying(why: string, hasSideBand: boolean): Buffer {
  const report = Buffer.concat([pktLine(`unpack ${why}\n`), FLUSH])
  if (!hasSideBand) return report
  return Buffer.concat([pktLine(Buffer.concat([Buffer.from([1]), report])), FLUSH])
}
