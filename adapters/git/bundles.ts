/** Takes a bundle in as if it were pushed: its head becomes the updates of a push, its pack goes on as it is. */
import { byteReader } from "./byte-reader.ts"
import type { Push, Tip, Verdict } from "./port.ts"
import { FLUSH, GitFailed, pktLine } from "./port.ts"
import type { Receiving } from "./receiving.ts"
import { receive } from "./receiving.ts"

const YES: Verdict = { ok: true }
const NO_OBJECT = "0".repeat(40)
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
  const no = new GitFailed("this is no bundle of git, or not of objects named by SHA-1")
  const signature = await reader.line().catch(() => null)
  if (signature === null || !SIGNATURES.includes(signature)) throw no
  const refs: Tip[] = []
  let sentHead: string | null = null
  for (let line = await reader.line(); line !== ""; line = await reader.line()) {
    if (line === null) throw no
    // What it may say of itself, and what must be there before: git looks at that.
    if (line === "@object-format=sha1" || /^-[0-9a-f]{40}/.test(line)) continue
    const [, id, ref] = /^([0-9a-f]{40}) (.+)$/.exec(line) ?? []
    if (id === undefined || ref === undefined) throw no
    if (ref === "HEAD") sentHead = id
    if (/^refs\/(heads|tags)\//.test(ref)) refs.push({ id, ref })
  }
  return { refs, sentHead }
}

/** What git says in its report was not done. */
export function faultsIn(report: Buffer): readonly string[] {
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
