/** Packs without a client of git: of what a commit reaches, out; with the new commits of a branch, in. */
import type { BranchPack, IncomingPush, PushVerdict, GitRef } from "./port.ts"
import { FLUSH_PACKET, pktLine, GitFailed } from "./port.ts"
import { gitExitError, startGit } from "./process.ts"
import type { RepositoryHandle } from "./read-repository.ts"
import { readRefs } from "./read-repository.ts"
import type { ReceiveContext } from "./receive-push.ts"
import { runReceivePack } from "./receive-push.ts"
import { byteReader } from "./push-objects.ts"

const ACCEPTED: PushVerdict = { ok: true }
const NO_OBJECT = "0".repeat(40)
const OBJECT_ID = /^[0-9a-f]{40}$/

/** A pack of all that a commit reaches. Git is ended where its reader stops. @throws GitFailed */
export async function* streamPack(
  { runtime, folder }: RepositoryHandle,
  commit: string,
): AsyncGenerator<Uint8Array> {
  const args = ["pack-objects", "--revs", "--stdout", "--quiet", "--delta-base-offset"]
  const running = startGit(runtime, { folder, args })
  running.stdin.end(`${commit}\n`)
  let isWhole = false
  try {
    yield* running.stdout as AsyncIterable<Buffer>
    isWhole = true
  } finally {
    if (!isWhole) running.kill()
  }
  const ended = await running.exit
  if (ended.code !== 0) throw gitExitError({ args }, ended)
}

/**
 * Takes the new commits of a branch in, as a push of that branch alone: the pack is completed, checked and
 * judged in the quarantine of a push, and nobody but git reads it.
 *
 * @throws what `judge` throws, and what `pack` does; GitFailed
 */
export async function applyPack(
  receiving: ReceiveContext,
  { ref, tip, pack, signal }: BranchPack,
  judge: (push: IncomingPush) => Promise<PushVerdict>,
): Promise<PushVerdict> {
  if (!OBJECT_ID.test(tip)) return rejected("What was sent names no commit.")
  if (!/^refs\/heads\/[^\0-\x20\x7f]+$/.test(ref)) return rejected("What was sent names no branch.")
  const old = await refTarget(receiving, ref)
  if (old === tip) return ACCEPTED
  let verdict: PushVerdict = ACCEPTED
  let torn: { readonly error: unknown } | null = null
  const answer: Buffer[] = []
  const update = `${old ?? NO_OBJECT} ${tip} ${ref}\0report-status side-band-64k atomic`
  const conversation = {
    input: (async function* () {
      yield Buffer.concat([pktLine(update), FLUSH_PACKET])
      try {
        yield* pack
      } catch (error) {
        torn = { error }
        throw error
      }
    })(),
    send: async (piece: Uint8Array) => {
      answer.push(Buffer.from(piece))
    },
    signal,
  }
  await runReceivePack(receiving, conversation, async (push) => {
    verdict = (await checkFastForward(push, old, tip)) ?? (await judge(push))
    return verdict
  })
  if (!verdict.ok) return verdict
  const { report, words } = parseSideBands(Buffer.concat(answer))
  const faults = parseReportErrors(report)
  // Where nobody listened any more to what git said, the branch says it.
  if (faults.length === 0 || (await refTarget(receiving, ref)) === tip) return ACCEPTED
  rethrowPackError(torn)
  if (signal.aborted) return rejected("Nobody waited for it any more, and nothing was changed.")
  return { ok: false, lines: [...words, ...faults] }
}

/** @throws what a pack that ended early has thrown */
function rethrowPackError(torn: { readonly error: unknown } | null): void {
  if (torn !== null) throw torn.error
}

const rejected = (line: string): PushVerdict => ({ ok: false, lines: [line] })

const refTarget = async (read: RepositoryHandle, ref: string): Promise<string | null> =>
  (await readRefs(read)).find((one) => one.ref === ref)?.id ?? null

/** Why what was sent cannot stand on top of a branch; null where it can. */
async function checkFastForward(
  push: IncomingPush,
  old: string | null,
  tip: string,
): Promise<PushVerdict | null> {
  if (!(await isCommit(push, tip))) return rejected("What was sent has no such commit.")
  if (old === null || (await push.isAncestor(old, tip))) return null
  return rejected(
    "The branch has commits that are not in what was sent: it moved meanwhile. " +
      "A box cannot fetch them: start another on this branch, and make the changes there.",
  )
}

/** Whether an object is there, and a commit: git asks its hook also of what is missing. */
async function isCommit(push: IncomingPush, id: string): Promise<boolean> {
  for await (const { entries } of push.readFolders([id], "")) if (entries === null) return false
  for await (const { type } of push.readObjects([id])) return type === "commit"
  return false
}

/** What git answered, by its bands: its report, and what it says to people. */
function parseSideBands(answer: Buffer): {
  readonly report: Buffer
  readonly words: readonly string[]
} {
  const bands: readonly [Buffer[], Buffer[]] = [[], []]
  for (let at = 0; at + 5 <= answer.length;) {
    const length = Number.parseInt(answer.toString("latin1", at, at + 4), 16)
    if (!(length > 4)) break
    bands[answer[at + 4] === 1 ? 0 : 1].push(answer.subarray(at + 5, at + length))
    at += length
  }
  const words = Buffer.concat(bands[1])
    .toString("utf8")
    .split(/[\r\n]+/)
  return { report: Buffer.concat(bands[0]), words: words.filter((word) => word.trim() !== "") }
}

const BUNDLE_SIGNATURES = ["# v2 git bundle", "# v3 git bundle"]

/**
 * Takes all branches and tags of a bundle in.
 *
 * @param tips those that are there
 * @throws GitFailed where it is no bundle; what `judge` throws
 */
export async function applyBundle(
  receiving: ReceiveContext,
  bundle: AsyncIterable<Uint8Array>,
  tips: readonly GitRef[],
  judge: (push: IncomingPush) => Promise<PushVerdict>,
): Promise<PushVerdict> {
  const reader = byteReader(bundle)
  const { refs, senderHead } = await readBundleHeader(reader)
  const before = new Map(tips.map(({ ref, id }) => [ref, id]))
  const updates = refs.filter(({ ref, id }) => before.get(ref) !== id)
  if (updates.length === 0) return ACCEPTED
  const commands = updates.map(({ ref, id }, i) => {
    const words = `${before.get(ref) ?? NO_OBJECT} ${id} ${ref}`
    return pktLine(i === 0 ? `${words}\0report-status atomic` : words)
  })
  let verdict: PushVerdict = ACCEPTED
  const answer: Buffer[] = []
  await runReceivePack(
    { ...receiving, senderHead },
    {
      input: (async function* () {
        yield Buffer.concat([...commands, FLUSH_PACKET])
        yield* reader.rest()
      })(),
      send: async (piece) => {
        answer.push(Buffer.from(piece))
      },
      signal: new AbortController().signal,
    },
    async (push) => {
      verdict = await judge(push)
      return verdict
    },
  )
  const faults = parseReportErrors(Buffer.concat(answer))
  // Also where it was not even asked: what is torn is no pack.
  return verdict.ok && faults.length > 0 ? { ok: false, lines: faults } : verdict
}

/** The branches and tags that a bundle has, and the commit of its `HEAD`. */
async function readBundleHeader(reader: { readonly line: () => Promise<string | null> }) {
  const fault = new GitFailed("this is no bundle of git, or not of objects named by SHA-1")
  const signature = await reader.line().catch(() => null)
  if (signature === null || !BUNDLE_SIGNATURES.includes(signature)) throw fault
  const refs: GitRef[] = []
  let senderHead: string | null = null
  for (let line = await reader.line(); line !== ""; line = await reader.line()) {
    if (line === null) throw fault
    // What it may say of itself, and what must be there before: git looks at that.
    if (line === "@object-format=sha1" || /^-[0-9a-f]{40}/.test(line)) continue
    const [, id, ref] = /^([0-9a-f]{40}) (.+)$/.exec(line) ?? []
    if (id === undefined || ref === undefined) throw fault
    if (ref === "HEAD") senderHead = id
    if (/^refs\/(heads|tags)\//.test(ref)) refs.push({ id, ref })
  }
  return { refs, senderHead }
}

/** What git says in its report was not done. */
function parseReportErrors(report: Buffer): readonly string[] {
  const faults: string[] = []
  for (let at = 0; at + 4 <= report.length;) {
    const length = Number.parseInt(report.toString("latin1", at, at + 4), 16)
    if (!(length > 4)) break
    const line = report.toString("utf8", at + 4, at + length).trim()
    if (line !== "unpack ok" && !line.startsWith("ok ")) faults.push(line)
    at += length
  }
  return report.length === 0 ? ["git ended without a word."] : faults
}
