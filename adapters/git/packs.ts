/**
 * Packs without a git client: reads the objects of a commit, and applies a branch's new commits.
 */
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

/**
 * Streams a pack of all objects that a commit reaches; git is ended when the reader stops. @throws
 * GitFailed
 */
export async function* streamPack(
  { runtime, folder }: RepositoryHandle,
  commit: string,
): AsyncGenerator<Uint8Array> {
  const args = ["pack-objects", "--revs", "--stdout", "--quiet", "--delta-base-offset"]
  const running = startGit(runtime, { folder, args })
  running.stdin.end(`${commit}\n`)
  let isComplete = false
  try {
    yield* running.stdout as AsyncIterable<Buffer>
    isComplete = true
  } finally {
    if (!isComplete) running.kill()
  }
  const ended = await running.exit
  if (ended.code !== 0) throw gitExitError({ args }, ended)
}

/**
 * Applies the new commits of a branch, like a push of only that branch. The pack is completed,
 * checked and judged in the quarantine of a push, and only git reads it.
 *
 * @throws errors of `judge` and of `pack`; GitFailed
 */
export async function applyPack(
  receiving: ReceiveContext,
  { ref, tip, pack, signal }: BranchPack,
  judge: (push: IncomingPush) => Promise<PushVerdict>,
): Promise<PushVerdict> {
  if (!OBJECT_ID.test(tip))
    return rejected("The pack's tip is not a commit id of 40 hexadecimal digits.")
  if (!/^refs\/heads\/[^\0-\x20\x7f]+$/.test(ref))
    return rejected(
      "The branch name is invalid. Use refs/heads/ and a name without spaces or control characters.",
    )
  const oldTip = await refTarget(receiving, ref)
  if (oldTip === tip) return ACCEPTED
  let verdict: PushVerdict = ACCEPTED
  let packError: { readonly error: unknown } | null = null
  const answer: Buffer[] = []
  const update = `${oldTip ?? NO_OBJECT} ${tip} ${ref}\0report-status side-band-64k atomic`
  const session = {
    input: (async function* () {
      yield Buffer.concat([pktLine(update), FLUSH_PACKET])
      try {
        yield* pack
      } catch (error) {
        packError = { error }
        throw error
      }
    })(),
    send: async (chunk: Uint8Array) => {
      answer.push(Buffer.from(chunk))
    },
    signal,
  }
  await runReceivePack(receiving, session, async (push) => {
    verdict = (await checkFastForward(push, oldTip, tip)) ?? (await judge(push))
    return verdict
  })
  if (!verdict.ok) return verdict
  const { report, messages } = parseSideBands(Buffer.concat(answer))
  const faults = parseReportErrors(report)
  // If the answer was not read to its end, the branch shows the result.
  if (faults.length === 0 || (await refTarget(receiving, ref)) === tip) return ACCEPTED
  rethrowPackError(packError)
  if (signal.aborted)
    return rejected("The connection ended before the push was applied; nothing was changed.")
  return { ok: false, lines: [...messages, ...faults] }
}

/** @throws the error of a pack that ended early */
function rethrowPackError(packError: { readonly error: unknown } | null): void {
  if (packError !== null) throw packError.error
}

const rejected = (line: string): PushVerdict => ({ ok: false, lines: [line] })

const refTarget = async (read: RepositoryHandle, ref: string): Promise<string | null> =>
  (await readRefs(read)).find((one) => one.ref === ref)?.id ?? null

/** Why a push is not a fast-forward; null if it is one. */
async function checkFastForward(
  push: IncomingPush,
  oldTip: string | null,
  tip: string,
): Promise<PushVerdict | null> {
  if (!(await isCommit(push, tip)))
    return rejected("The pack does not contain the commit it names.")
  if (oldTip === null || (await push.isAncestor(oldTip, tip))) return null
  return rejected(
    "The branch moved meanwhile and has commits that this push lacks. " +
      "A box cannot fetch them: start another on this branch, and make the changes there.",
  )
}

/** Whether an object exists and is a commit: the hook also runs for missing objects. */
async function isCommit(push: IncomingPush, id: string): Promise<boolean> {
  for await (const { entries } of push.readFolders([id], "")) if (entries === null) return false
  for await (const { type } of push.readObjects([id])) return type === "commit"
  return false
}

/** Splits git's answer by side bands: the report and the messages for people. */
function parseSideBands(answer: Buffer): {
  readonly report: Buffer
  readonly messages: readonly string[]
} {
  const bands: readonly [Buffer[], Buffer[]] = [[], []]
  for (let at = 0; at + 5 <= answer.length;) {
    const length = Number.parseInt(answer.toString("latin1", at, at + 4), 16)
    if (!(length > 4)) break
    bands[answer[at + 4] === 1 ? 0 : 1].push(answer.subarray(at + 5, at + length))
    at += length
  }
  const messages = Buffer.concat(bands[1])
    .toString("utf8")
    .split(/[\r\n]+/)
  return {
    report: Buffer.concat(bands[0]),
    messages: messages.filter((message) => message.trim() !== ""),
  }
}

const BUNDLE_SIGNATURES = ["# v2 git bundle", "# v3 git bundle"]

/**
 * Applies all branches and tags of a bundle.
 *
 * @param tips the existing branches and tags
 * @throws GitFailed if it is not a bundle; errors of `judge`
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
    const command = `${before.get(ref) ?? NO_OBJECT} ${id} ${ref}`
    return pktLine(i === 0 ? `${command}\0report-status atomic` : command)
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
      send: async (chunk) => {
        answer.push(Buffer.from(chunk))
      },
      signal: new AbortController().signal,
    },
    async (push) => {
      verdict = await judge(push)
      return verdict
    },
  )
  const faults = parseReportErrors(Buffer.concat(answer))
  // Also when `judge` was never called: the pack is damaged.
  return verdict.ok && faults.length > 0 ? { ok: false, lines: faults } : verdict
}

/** Reads a bundle's branches, tags and the commit of its `HEAD`. */
async function readBundleHeader(reader: { readonly line: () => Promise<string | null> }) {
  const fault = new GitFailed("this file is not a git bundle with SHA-1 object ids")
  const signature = await reader.line().catch(() => null)
  if (signature === null || !BUNDLE_SIGNATURES.includes(signature)) throw fault
  const refs: GitRef[] = []
  let senderHead: string | null = null
  for (let line = await reader.line(); line !== ""; line = await reader.line()) {
    if (line === null) throw fault
    // Capabilities and prerequisites are checked by git.
    if (line === "@object-format=sha1" || /^-[0-9a-f]{40}/.test(line)) continue
    const [, id, ref] = /^([0-9a-f]{40}) (.+)$/.exec(line) ?? []
    if (id === undefined || ref === undefined) throw fault
    if (ref === "HEAD") senderHead = id
    if (/^refs\/(heads|tags)\//.test(ref)) refs.push({ id, ref })
  }
  return { refs, senderHead }
}

/** The errors in git's report. */
function parseReportErrors(report: Buffer): readonly string[] {
  const faults: string[] = []
  for (let at = 0; at + 4 <= report.length;) {
    const length = Number.parseInt(report.toString("latin1", at, at + 4), 16)
    if (!(length > 4)) break
    const line = report.toString("utf8", at + 4, at + length).trim()
    if (line !== "unpack ok" && !line.startsWith("ok ")) faults.push(line)
    at += length
  }
  return report.length === 0 ? ["git ended without a report."] : faults
}
