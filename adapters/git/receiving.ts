/** Takes a push: git unpacks it into a quarantine, and its hook asks us before a ref moves. */
import { rm } from "node:fs/promises"
import { relative, sep } from "node:path"
import type { Duplex } from "node:stream"
import type { ConversationLimits } from "./conversation.ts"
import { converse } from "./conversation.ts"
import { pushOf } from "./new-objects.ts"
import type { Conversation, Push, RefUpdate, Verdict } from "./port.ts"
import { GitFailed } from "./port.ts"
import type { Command, Machine } from "./process.ts"
import { withHeadChecked } from "./push-head.ts"
import { run } from "./process.ts"
import { headOf } from "./reading.ts"

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
