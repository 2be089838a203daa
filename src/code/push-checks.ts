/**
 * The checks of a push, before any of its refs moves: refs, sizes, keys of this service, other secrets, the
 * protected core, the default branch. All new objects are looked at, also those that nothing refers to: git
 * hands out any object by its id.
 */
import type { IncomingPush } from "../../adapters/git/port.ts"
import { COMPANY_SUBJECT } from "../../adapters/sealing/port.ts"
import { codeStreamOf } from "../../domain/code/aggregates.ts"
import { scrubCountOf } from "../../domain/code/code-views.ts"
import type { AcceptPush } from "../../domain/code/code-commands.ts"
import type { SealedRefUpdate, PushId } from "../../domain/code/code-events.ts"
import { RELEASES_STREAM } from "../../domain/connection/aggregates.ts"
import { releasedCoreTrees } from "../../domain/connection/releases.ts"
import type { Metric } from "../frame/http/metrics.ts"
import { newId } from "../frame/kernel/ids.ts"
import type { Ports } from "../frame/ports.ts"
import type { PushSize } from "./check-objects.ts"
import { measurePush } from "./check-objects.ts"
import { checkSecrets } from "./check-secrets.ts"
import { reconcileRefs, hashOfRef, defaultBranchAfterPush, syncHead } from "./reconcile-refs.ts"
import type { Pusher, PushRefusal } from "./push-refusal.ts"
import { pushRefusalLines, MAX_LOCATIONS } from "./push-refusal.ts"
import { deletesDefaultBranch, defaultBranchMove, refFaults } from "../../domain/code/ref-rules.ts"
import type { ProtectedCore } from "../../domain/code/protected-core.ts"
import {
  protectedCoreFault,
  protectedCoreOf,
  srcFolderOf,
} from "../../domain/code/protected-core.ts"

declare module "../frame/counters.ts" {
  interface CounterLabels {
    /** Pushes that were refused, by the reason. */
    readonly refused_pushes: "code"
  }
}

/** What `/metrics` tells of them. */
export const refusedPushMetric: Metric = {
  name: "ledger_refused_pushes_total",
  help: "Pushes that were refused, by the reason.",
  labels: ["code"],
  isCounter: true,
  read: async ({ counters }) => counters.read("refused_pushes"),
}

/** What is said to a push: yes, and by which name it is ended; or lines for the person at the terminal. */
export type PushDecision =
  | { readonly ok: true; readonly pushId: PushId }
  | { readonly ok: false; readonly lines: readonly string[] }

/** How often a repository was cleaned: to be read before git takes anything of a push. */
export function scrubCount(
  { runner }: Pick<Ports, "runner">,
  { companyId }: Pusher,
): Promise<number> {
  return runner.readLatest(codeStreamOf(companyId), scrubCountOf)
}

/**
 * Judges a push. A yes is a fact by then, and `landed` is to be called once git has ended; a throw is a no,
 * and nothing of the push may be taken.
 *
 * @param before the `cleanings` of before git took anything of it
 * @throws SecretScanFailed, as `Runner.execute` does, and what `push` throws
 */
export async function checkPush(
  ports: Pick<Ports, "counters" | "log" | "repositories" | "runner" | "sealing" | "secretScan">,
  pusher: Pusher,
  push: IncomingPush,
  before: number,
): Promise<PushDecision> {
  const pushId = newId("push")
  const readCores = openCoreReader(push)
  const defaultBranch = await defaultBranchAfterPush(ports, pusher.companyId, push)
  const looked = { pushId, push, readCores, scrubsBefore: before, defaultBranch }
  const checked = await runChecks(ports, pusher, looked)
  const refused =
    "code" in checked ? checked : await recordAcceptance(ports, pusher, looked, checked)
  if (refused === null) return { ok: true, pushId }
  await recordRefusal(ports, pusher, pushId, refused)
  return { ok: false, lines: pushRefusalLines(refused) }
}

/**
 * Writes down whether the refs of a push moved, and has `HEAD` follow. Again, or for one that has ended:
 * nothing new. False where the refs moved on all the while: to be done again later.
 */
export async function completePush(
  ports: Pick<Ports, "repositories" | "runner" | "sealing">,
  pusher: Pusher,
  pushId: PushId,
): Promise<boolean> {
  const isDone = await reconcileRefs(ports, pusher, pushId)
  if (isDone) await syncHead(ports, pusher.companyId)
  return isDone
}

/** A push that is judged. */
interface CheckedPush {
  readonly pushId: PushId
  readonly push: IncomingPush
  readonly readCores: ReadCores
  /** The `cleanings` of before git took anything of it. */
  readonly scrubsBefore: number
  /** The default branch once it has landed. */
  readonly defaultBranch: string
}

/** The checks, in order: what is refused by one is not looked at by the next. */
async function runChecks(
  ports: Pick<Ports, "log" | "runner" | "sealing" | "secretScan">,
  pusher: Pusher,
  { pushId, push, readCores, defaultBranch }: CheckedPush,
): Promise<PushSize | PushRefusal> {
  const refs = checkRefs(push)
  if (refs !== null) return refs
  const brought = await measurePush(push)
  if ("code" in brought) return brought
  const official = await ports.runner.readLatest(RELEASES_STREAM, releasedCoreTrees)
  return (
    (await checkSecrets(ports, pusher, pushId, push, brought)) ??
    (await checkCores(push, readCores, official)) ??
    (await checkDefaultBranch(push, defaultBranch)) ??
    brought
  )
}

/** Writes the yes down; the refusal where there are too many refs by now. */
async function recordAcceptance(
  ports: Pick<Ports, "runner" | "sealing">,
  { companyId, cause }: Pusher,
  { pushId, push, readCores, scrubsBefore: scrubs, defaultBranch }: CheckedPush,
  { objects, bytes }: PushSize,
): Promise<PushRefusal | null> {
  const updates = await Promise.all(
    push.updates.map(async ({ ref, old, new: wanted }): Promise<SealedRefUpdate> => {
      const tag = await hashOfRef(ports, companyId, ref)
      const sealed = await ports.sealing.seal(companyId, COMPANY_SUBJECT, ref)
      return { ref: sealed, refHash: tag, old, new: wanted }
    }),
  )
  const tip = push.updates.find(({ ref }) => ref === defaultBranch)?.new ?? null
  const tag = await hashOfRef(ports, companyId, defaultBranch)
  const core = tip === null ? null : { refHash: tag, tree: await coreTreeIdOf(readCores, tip) }
  const { keyId, personId } = cause
  const told = { pushId, keyId, personId, updates, core, objects, bytes, scrubCount: scrubs }
  const command: AcceptPush = { type: "AcceptPush", ...told }
  const outcome = await ports.runner.execute(codeStreamOf(companyId), command, cause)
  if (outcome.accepted) return null
  const advice = "Nothing of this push was taken."
  return { code: "refs", reason: outcome.refusal.message, locations: [], advice }
}

async function recordRefusal(
  ports: Pick<Ports, "counters" | "runner" | "sealing">,
  { companyId, cause }: Pusher,
  pushId: PushId,
  refused: PushRefusal,
): Promise<void> {
  const { code } = refused
  ports.counters.increment("refused_pushes", { code })
  const text = pushRefusalLines(refused).join("\n")
  const places = await ports.sealing.seal(companyId, COMPANY_SUBJECT, text)
  const { keyId, personId } = cause
  const told = { pushId, code, shownLines: places, keyId, personId }
  const command = {
    type: "RefusePush" as const,
    ...told,
    isReferenced: refused.hasSwitchedOffKey === true,
  }
  const outcome = await ports.runner.execute(codeStreamOf(companyId), command, cause)
  if (!outcome.accepted) throw new Error(`${pushId} was not refused: ${outcome.refusal.code}`)
}

/** Why the names or the number of its refs refuse a push; null where they do not. */
function checkRefs({ updates }: IncomingPush): PushRefusal | null {
  const faults = refFaults(updates)
  if (faults.length === 0) return null
  const locations = faults.map(({ ref, message }) =>
    ref === null ? message : `${ref}: ${message}`,
  )
  const reason = "This push moves what cannot be pushed, so nothing of it was taken:"
  return { code: "refs", reason, locations, advice: "Push branches and tags by other names." }
}

/** Why a push is refused that deletes the default branch or forces it; null where it does neither. */
async function checkDefaultBranch(
  push: IncomingPush,
  defaultBranch: string,
): Promise<PushRefusal | null> {
  const refused = { code: "default_branch" as const, locations: [] }
  if (deletesDefaultBranch(push.updates, defaultBranch)) {
    const reason = "The default branch cannot be deleted, so nothing of this push was taken."
    const advice = "Make another branch the default first (repository default-branch)."
    return { ...refused, reason, advice }
  }
  const moved = defaultBranchMove(push.updates, defaultBranch)
  if (moved === null || (await push.isAncestor(moved.old, moved.new))) return null
  const reason = "The default branch cannot be forced, so nothing of this push was taken."
  return {
    ...refused,
    reason,
    advice: "Fetch, put your commits on top of what is there, and push again.",
  }
}

/** What became of it: the push that it was (null where it had nothing new), or why not. */
export type ImportResult =
  | { readonly ok: true; readonly pushId: PushId | null }
  | { readonly ok: false; readonly lines: readonly string[] }

/**
 * Takes a bundle in.
 *
 * @param isNothing whether what it brings is not worth a commit; it is then left, with no fact
 * @throws what the repositories and the checks throw
 */
export async function importCheckedBundle(
  ports: Pick<Ports, "counters" | "log" | "repositories" | "runner" | "sealing" | "secretScan">,
  pusher: Pusher,
  bundle: AsyncIterable<Uint8Array>,
  isNothing: (push: IncomingPush) => Promise<boolean> = async () => false,
): Promise<ImportResult> {
  const before = await scrubCount(ports, pusher)
  let pushId: PushId | null = null
  let isLeft = false
  const verdict = await ports.repositories.importBundle(pusher.companyId, bundle, async (push) => {
    isLeft = await isNothing(push)
    if (isLeft) return { ok: false, lines: ["There is nothing new in it."] }
    const judged = await checkPush(ports, pusher, push, before)
    if (judged.ok) ({ pushId } = judged)
    return judged.ok ? { ok: true } : judged
  })
  // Also where git took nothing of it after a yes: the refs say so.
  if (pushId !== null) await completePush(ports, pusher, pushId)
  if (isLeft) return { ok: true, pushId: null }
  return verdict.ok ? { ok: true, pushId } : { ok: false, lines: verdict.lines }
}

/** Answers the cores of commits; those that have none may be left out. */
type ReadCores = (commits: Iterable<string>) => Promise<ReadonlyMap<string, ProtectedCore>>

/** Why the core of some commit refuses a push; null where it is as it must be in all of them. */
async function checkCores(
  push: IncomingPush,
  readCores: ReadCores,
  official: ReadonlySet<string>,
): Promise<PushRefusal | null> {
  const parentsOf = new Map<string, readonly string[]>()
  for await (const { id, parents } of push.listNewCommits()) parentsOf.set(id, parents)
  const cores = await readCores([...parentsOf].flat(2))
  const locations: string[] = []
  for (const [id, parents] of parentsOf) {
    const fault = protectedCoreFault(
      cores.get(id) ?? ABSENT,
      parents.map((one) => cores.get(one) ?? ABSENT),
      official,
    )
    if (fault !== null) locations.push(`commit ${id.slice(0, 12)}: ${fault}`)
    if (locations.length > MAX_LOCATIONS) break
  }
  if (locations.length === 0) return null
  return {
    code: "protected_core",
    reason:
      "The protected core (src/sealed) must be as an official release has it, so nothing of this push was taken:",
    locations,
    advice: "Restore src/sealed in each of these commits (git rebase -i), and push again.",
  }
}

/** The tree of the protected core of one commit; null where it has none. */
async function coreTreeIdOf(readCores: ReadCores, commit: string): Promise<string | null> {
  const core = (await readCores([commit])).get(commit)
  return core?.kind === "tree" ? core.id : null
}

const ABSENT: ProtectedCore = { kind: "absent" }

/** Reads the cores of a push's commits, each once: every look is a process of git. */
function openCoreReader(push: IncomingPush): ReadCores {
  const cores = new Map<string, ProtectedCore>()
  return async (commits) => {
    const missing = [...new Set(commits)].filter((commit) => !cores.has(commit))
    if (missing.length === 0) return cores
    const inside: string[] = []
    for await (const { commits: some, entries } of push.readFolders(missing, "")) {
      const src = srcFolderOf(entries)
      for (const commit of some) {
        if (src.kind === "tree") inside.push(commit)
        else cores.set(commit, src)
      }
    }
    if (inside.length === 0) return cores
    for await (const { commits: some, entries } of push.readFolders(inside, "src")) {
      const core = protectedCoreOf(entries)
      for (const commit of some) cores.set(commit, core)
    }
    return cores
  }
}
