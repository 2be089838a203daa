/** Packs without a client of git: of what a commit reaches, out; with the new commits of a branch, in. */
import type { BranchPack, Push, Verdict, Tip } from "./port.ts"
import { FLUSH, pktLine, GitFailed } from "./port.ts"
import { failed, run } from "./process.ts"
import type { Read } from "./reading.ts"
import { tipsOf } from "./reading.ts"
import type { Receiving } from "./receiving.ts"
import { receive } from "./receiving.ts"
import { byteReader } from "./new-objects.ts"

const YES: Verdict = { ok: true }
const NO_OBJECT = "0".repeat(40)
const IS_ID = /^[0-9a-f]{40}$/

/** A pack of all that a commit reaches. Git is ended where its reader stops. @throws GitFailed */
export async function* packOf(
  { machine, folder }: Read,
  commit: string,
): AsyncGenerator<Uint8Array> {
  const args = ["pack-objects", "--revs", "--stdout", "--quiet", "--delta-base-offset"]
  const running = run(machine, { folder, args })
  running.stdin.end(`${commit}\n`)
  let isWhole = false
  try {
    yield* running.stdout as AsyncIterable<Buffer>
    isWhole = true
  } finally {
    if (!isWhole) running.kill()
  }
  const ended = await running.ended
  if (ended.code !== 0) throw failed({ args }, ended)
}

/**
 * Takes the new commits of a branch in, as a push of that branch alone: the pack is completed, checked and
 * judged in the quarantine of a push, and nobody but git reads it.
 *
 * @throws what `judge` throws, and what `pack` does; GitFailed
 */
export async function takePack(
  receiving: Receiving,
  { ref, tip, pack, signal }: BranchPack,
  judge: (push: Push) => Promise<Verdict>,
): Promise<Verdict> {
  if (!IS_ID.test(tip)) return no("What was sent names no commit.")
  if (!/^refs\/heads\/[^\0-\x20\x7f]+$/.test(ref)) return no("What was sent names no branch.")
  const old = await idAt(receiving, ref)
  if (old === tip) return YES
  let verdict: Verdict = YES
  let torn: { readonly error: unknown } | null = null
  const answer: Buffer[] = []
  const update = `${old ?? NO_OBJECT} ${tip} ${ref}\0report-status side-band-64k atomic`
  const conversation = {
    input: (async function* () {
      yield Buffer.concat([pktLine(update), FLUSH])
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
  await receive(receiving, conversation, async (push) => {
    verdict = (await notOnTop(push, old, tip)) ?? (await judge(push))
    return verdict
  })
  if (!verdict.ok) return verdict
  const { report, words } = bandsIn(Buffer.concat(answer))
  const faults = faultsIn(report)
  // Where nobody listened any more to what git said, the branch says it.
  if (faults.length === 0 || (await idAt(receiving, ref)) === tip) return YES
  throwTorn(torn)
  if (signal.aborted) return no("Nobody waited for it any more, and nothing was changed.")
  return { ok: false, lines: [...words, ...faults] }
}

/** @throws what a pack that ended early has thrown */
function throwTorn(torn: { readonly error: unknown } | null): void {
  if (torn !== null) throw torn.error
}

const no = (line: string): Verdict => ({ ok: false, lines: [line] })

const idAt = async (read: Read, ref: string): Promise<string | null> =>
  (await tipsOf(read)).find((one) => one.ref === ref)?.id ?? null

/** Why what was sent cannot stand on top of a branch; null where it can. */
async function notOnTop(push: Push, old: string | null, tip: string): Promise<Verdict | null> {
  if (!(await isCommit(push, tip))) return no("What was sent has no such commit.")
  if (old === null || (await push.isAncestor(old, tip))) return null
  return no(
    "The branch has commits that are not in what was sent: it moved meanwhile. " +
      "A box cannot fetch them: start another on this branch, and make the changes there.",
  )
}

/** Whether an object is there, and a commit: git asks its hook also of what is missing. */
async function isCommit(push: Push, id: string): Promise<boolean> {
  for await (const { entries } of push.folders([id], "")) if (entries === null) return false
  for await (const { type } of push.read([id])) return type === "commit"
  return false
}

/** What git answered, by its bands: its report, and what it says to people. */
function bandsIn(answer: Buffer): { readonly report: Buffer; readonly words: readonly string[] } {
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

const SIGNATURES = ["# v2 git bundle", "# v3 git bundle"]

/**
 * Takes all branches and tags of a bundle in.
 *
 * @param tips those that are there
 * @throws GitFailed where it is no bundle; what `judge` throws
 */
export async function takeBundle(
  receiving: Receiving,
  bundle: AsyncIterable<Uint8Array>,
  tips: readonly Tip[],
  judge: (push: Push) => Promise<Verdict>,
): Promise<Verdict> {
  const reader = byteReader(bundle)
  const { refs, sentHead } = await headerOf(reader)
  const before = new Map(tips.map(({ ref, id }) => [ref, id]))
  const updates = refs.filter(({ ref, id }) => before.get(ref) !== id)
  if (updates.length === 0) return YES
  const commands = updates.map(({ ref, id }, i) => {
    const words = `${before.get(ref) ?? NO_OBJECT} ${id} ${ref}`
    return pktLine(i === 0 ? `${words}\0report-status atomic` : words)
  })
  let verdict: Verdict = YES
  const answer: Buffer[] = []
  await receive(
    { ...receiving, sentHead },
    {
      input: (async function* () {
        yield Buffer.concat([...commands, FLUSH])
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
  const faults = faultsIn(Buffer.concat(answer))
  // Also where it was not even asked: what is torn is no pack.
  return verdict.ok && faults.length > 0 ? { ok: false, lines: faults } : verdict
}

/** The branches and tags that a bundle has, and the commit of its `HEAD`. */
async function headerOf(reader: { readonly line: () => Promise<string | null> }) {
  const fault = new GitFailed("this is no bundle of git, or not of objects named by SHA-1")
  const signature = await reader.line().catch(() => null)
  if (signature === null || !SIGNATURES.includes(signature)) throw fault
  const refs: Tip[] = []
  let sentHead: string | null = null
  for (let line = await reader.line(); line !== ""; line = await reader.line()) {
    if (line === null) throw fault
    // What it may say of itself, and what must be there before: git looks at that.
    if (line === "@object-format=sha1" || /^-[0-9a-f]{40}/.test(line)) continue
    const [, id, ref] = /^([0-9a-f]{40}) (.+)$/.exec(line) ?? []
    if (id === undefined || ref === undefined) throw fault
    if (ref === "HEAD") sentHead = id
    if (/^refs\/(heads|tags)\//.test(ref)) refs.push({ id, ref })
  }
  return { refs, sentHead }
}

/** What git says in its report was not done. */
function faultsIn(report: Buffer): readonly string[] {
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
