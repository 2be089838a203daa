/**
 * The checks of a push, before any of its refs moves: refs, sizes, keys of this service, other secrets, the
 * protected core, the default branch. All new objects are looked at, also those that nothing refers to: git
 * hands out any object by its id.
 */
import type { Push } from "../../adapters/git/port.ts"
import { COMPANY_SUBJECT } from "../../adapters/sealing/port.ts"
import { codeOf } from "../../domain/code/aggregates.ts"
import { scrubsOf } from "../../domain/code/code-views.ts"
import type { AcceptPush } from "../../domain/code/code-commands.ts"
import type { SealedUpdate, PushId } from "../../domain/code/code-events.ts"
import { RELEASES } from "../../domain/connection/aggregates.ts"
import { sealedTrees } from "../../domain/connection/releases.ts"
import type { Measure } from "../frame/http/metrics.ts"
import { newId } from "../frame/kernel/ids.ts"
import type { Ports } from "../frame/ports.ts"
import type { Brought } from "./check-objects.ts"
import { weigh } from "./check-objects.ts"
import { secretsRefused } from "./check-secrets.ts"
import { compareRefs, tagOfRef, defaultBranchAfter, followDefaultBranch } from "./compare-refs.ts"
import type { Pusher, RefusedPush } from "./refused-push.ts"
import { linesOf, MOST_PLACES } from "./refused-push.ts"
import { deletesDefault, movedDefault, refFaults } from "../../domain/code/ref-rules.ts"
import type { Core } from "../../domain/code/sealed-core.ts"
import { coreFault, coreIn, srcIn } from "../../domain/code/sealed-core.ts"

declare module "../frame/counts.ts" {
  interface Counted {
    /** Pushes that were refused, by the reason. */
    readonly refused_pushes: "code"
  }
}

/** What `/metrics` tells of them. */
export const refusedPushMeasure: Measure = {
  name: "ledger_refused_pushes_total",
  help: "Pushes that were refused, by the reason.",
  labels: ["code"],
  isCount: true,
  read: async ({ counts }) => counts.read("refused_pushes"),
}

/** What is said to a push: yes, and by which name it is ended; or lines for the person at the terminal. */
export type Judged =
  | { readonly ok: true; readonly pushId: PushId }
  | { readonly ok: false; readonly lines: readonly string[] }

/** How often a repository was cleaned: to be read before git takes anything of a push. */
export function cleanings(
  { runner }: Pick<Ports, "runner">,
  { companyId }: Pusher,
): Promise<number> {
  return runner.readLatest(codeOf(companyId), scrubsOf)
}

/**
 * Judges a push. A yes is a fact by then, and `landed` is to be called once git has ended; a throw is a no,
 * and nothing of the push may be taken.
 *
 * @param before the `cleanings` of before git took anything of it
 * @throws ScanFailed, as `Runner.execute` does, and what `push` throws
 */
export async function judgePush(
  ports: Pick<Ports, "counts" | "log" | "repositories" | "runner" | "sealing" | "secretScan">,
  pusher: Pusher,
  push: Push,
  before: number,
): Promise<Judged> {
  const pushId = newId("push")
  const readCores = coresOf(push)
  const defaultBranch = await defaultBranchAfter(ports, pusher.companyId, push)
  const looked = { pushId, push, readCores, before, defaultBranch }
  const checked = await check(ports, pusher, looked)
  const refused = "code" in checked ? checked : await accept(ports, pusher, looked, checked)
  if (refused === null) return { ok: true, pushId }
  await writeDown(ports, pusher, pushId, refused)
  return { ok: false, lines: linesOf(refused) }
}

/**
 * Writes down whether the refs of a push moved, and has `HEAD` follow. Again, or for one that has ended:
 * nothing new. False where the refs moved on all the while: to be done again later.
 */
export async function landed(
  ports: Pick<Ports, "repositories" | "runner" | "sealing">,
  pusher: Pusher,
  pushId: PushId,
): Promise<boolean> {
  const isDone = await compareRefs(ports, pusher, pushId)
  if (isDone) await followDefaultBranch(ports, pusher.companyId)
  return isDone
}

/** A push that is judged. */
interface Looked {
  readonly pushId: PushId
  readonly push: Push
  readonly readCores: ReadCores
  /** The `cleanings` of before git took anything of it. */
  readonly before: number
  /** The default branch once it has landed. */
  readonly defaultBranch: string
}

/** The checks, in order: what is refused by one is not looked at by the next. */
async function check(
  ports: Pick<Ports, "log" | "runner" | "sealing" | "secretScan">,
  pusher: Pusher,
  { pushId, push, readCores, defaultBranch }: Looked,
): Promise<Brought | RefusedPush> {
  const refs = refsRefused(push)
  if (refs !== null) return refs
  const brought = await weigh(push)
  if ("code" in brought) return brought
  const official = await ports.runner.readLatest(RELEASES, sealedTrees)
  return (
    (await secretsRefused(ports, pusher, pushId, push, brought)) ??
    (await coresRefused(push, readCores, official)) ??
    (await defaultRefused(push, defaultBranch)) ??
    brought
  )
}

/** Writes the yes down; the refusal where there are too many refs by now. */
async function accept(
  ports: Pick<Ports, "runner" | "sealing">,
  { companyId, cause }: Pusher,
  { pushId, push, readCores, before: scrubs, defaultBranch }: Looked,
  { objects, bytes }: Brought,
): Promise<RefusedPush | null> {
  const updates = await Promise.all(
    push.updates.map(async ({ ref, old, new: wanted }): Promise<SealedUpdate> => {
      const tag = await tagOfRef(ports, companyId, ref)
      const sealed = await ports.sealing.seal(companyId, COMPANY_SUBJECT, ref)
      return { ref: sealed, refHash: tag, old, new: wanted }
    }),
  )
  const tip = push.updates.find(({ ref }) => ref === defaultBranch)?.new ?? null
  const tag = await tagOfRef(ports, companyId, defaultBranch)
  const core = tip === null ? null : { refHash: tag, tree: await coreTreeOf(readCores, tip) }
  const { keyId, personId } = cause
  const told = { pushId, keyId, personId, updates, core, objects, bytes, scrubs }
  const command: AcceptPush = { type: "AcceptPush", ...told }
  const outcome = await ports.runner.execute(codeOf(companyId), command, cause)
  if (outcome.accepted) return null
  const next = "Nothing of this push was taken."
  return { code: "refs", why: outcome.refusal.message, places: [], next }
}

async function writeDown(
  ports: Pick<Ports, "counts" | "runner" | "sealing">,
  { companyId, cause }: Pusher,
  pushId: PushId,
  refused: RefusedPush,
): Promise<void> {
  const { code } = refused
  ports.counts.add("refused_pushes", { code })
  const text = linesOf(refused).join("\n")
  const places = await ports.sealing.seal(companyId, COMPANY_SUBJECT, text)
  const { keyId, personId } = cause
  const told = { pushId, code, shownLines: places, keyId, personId }
  const command = { type: "RefusePush" as const, ...told, isNamed: refused.hasSwitchedOff === true }
  const outcome = await ports.runner.execute(codeOf(companyId), command, cause)
  if (!outcome.accepted) throw new Error(`${pushId} was not refused: ${outcome.refusal.code}`)
}

/** Why the names or the number of its refs refuse a push; null where they do not. */
function refsRefused({ updates }: Push): RefusedPush | null {
  const faults = refFaults(updates)
  if (faults.length === 0) return null
  const places = faults.map(({ ref, says }) => (ref === null ? says : `${ref}: ${says}`))
  const why = "This push moves what cannot be pushed, so nothing of it was taken:"
  return { code: "refs", why, places, next: "Push branches and tags by other names." }
}

/** Why a push is refused that deletes the default branch or forces it; null where it does neither. */
async function defaultRefused(push: Push, defaultBranch: string): Promise<RefusedPush | null> {
  const refused = { code: "default_branch" as const, places: [] }
  if (deletesDefault(push.updates, defaultBranch)) {
    const why = "The default branch cannot be deleted, so nothing of this push was taken."
    const next = "Make another branch the default first (repository default-branch)."
    return { ...refused, why, next }
  }
  const moved = movedDefault(push.updates, defaultBranch)
  if (moved === null || (await push.isAncestor(moved.old, moved.new))) return null
  const why = "The default branch cannot be forced, so nothing of this push was taken."
  return {
    ...refused,
    why,
    next: "Fetch, put your commits on top of what is there, and push again.",
  }
}

/** What became of it: the push that it was (null where it had nothing new), or why not. */
export type TakenIn =
  | { readonly ok: true; readonly pushId: PushId | null }
  | { readonly ok: false; readonly lines: readonly string[] }

/**
 * Takes a bundle in.
 *
 * @param isNothing whether what it brings is not worth a commit; it is then left, with no fact
 * @throws what the repositories and the checks throw
 */
export async function takeIn(
  ports: Pick<Ports, "counts" | "log" | "repositories" | "runner" | "sealing" | "secretScan">,
  pusher: Pusher,
  bundle: AsyncIterable<Uint8Array>,
  isNothing: (push: Push) => Promise<boolean> = async () => false,
): Promise<TakenIn> {
  const before = await cleanings(ports, pusher)
  let pushId: PushId | null = null
  let isLeft = false
  const verdict = await ports.repositories.importBundle(pusher.companyId, bundle, async (push) => {
    isLeft = await isNothing(push)
    if (isLeft) return { ok: false, lines: ["There is nothing new in it."] }
    const judged = await judgePush(ports, pusher, push, before)
    if (judged.ok) ({ pushId } = judged)
    return judged.ok ? { ok: true } : judged
  })
  // Also where git took nothing of it after a yes: the refs say so.
  if (pushId !== null) await landed(ports, pusher, pushId)
  if (isLeft) return { ok: true, pushId: null }
  return verdict.ok ? { ok: true, pushId } : { ok: false, lines: verdict.lines }
}

/** Answers the cores of commits; those that have none may be left out. */
type ReadCores = (commits: Iterable<string>) => Promise<ReadonlyMap<string, Core>>

/** Why the core of some commit refuses a push; null where it is as it must be in all of them. */
async function coresRefused(
  push: Push,
  readCores: ReadCores,
  official: ReadonlySet<string>,
): Promise<RefusedPush | null> {
  const parentsOf = new Map<string, readonly string[]>()
  for await (const { id, parents } of push.commits()) parentsOf.set(id, parents)
  const cores = await readCores([...parentsOf].flat(2))
  const places: string[] = []
  for (const [id, parents] of parentsOf) {
    const fault = coreFault(
      cores.get(id) ?? ABSENT,
      parents.map((one) => cores.get(one) ?? ABSENT),
      official,
    )
    if (fault !== null) places.push(`commit ${id.slice(0, 12)}: ${fault}`)
    if (places.length > MOST_PLACES) break
  }
  if (places.length === 0) return null
  return {
    code: "protected_core",
    why: "The protected core (src/sealed) must be as an official release has it, so nothing of this push was taken:",
    places,
    next: "Restore src/sealed in each of these commits (git rebase -i), and push again.",
  }
}

/** The tree of the protected core of one commit; null where it has none. */
async function coreTreeOf(readCores: ReadCores, commit: string): Promise<string | null> {
  const core = (await readCores([commit])).get(commit)
  return core?.is === "tree" ? core.id : null
}

const ABSENT: Core = { is: "absent" }

/** Reads the cores of a push's commits, each once: every look is a process of git. */
function coresOf(push: Push): ReadCores {
  const cores = new Map<string, Core>()
  return async (commits) => {
    const missing = [...new Set(commits)].filter((commit) => !cores.has(commit))
    if (missing.length === 0) return cores
    const inside: string[] = []
    for await (const { commits: some, entries } of push.folders(missing, "")) {
      const src = srcIn(entries)
      for (const commit of some) {
        if (src.is === "tree") inside.push(commit)
        else cores.set(commit, src)
      }
    }
    if (inside.length === 0) return cores
    for await (const { commits: some, entries } of push.folders(inside, "src")) {
      const core = coreIn(entries)
      for (const commit of some) cores.set(commit, core)
    }
    return cores
  }
}
