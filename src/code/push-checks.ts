/**
 * The checks of a push before any ref moves: refs, sizes, keys of this service, other secrets, the protected
 * core, the default branch. They cover all new objects, also unreferenced ones: git serves any object by id.
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
    readonly refused_pushes: "code"
  }
}

/** Metric of refused pushes. */
export const refusedPushMetric: Metric = {
  name: "ledger_refused_pushes_total",
  help: "Refused pushes by reason.",
  labels: ["code"],
  isCounter: true,
  read: async ({ counters }) => counters.read("refused_pushes"),
}

/** Decision about a push: its id, or the message lines for the terminal. */
export type PushDecision =
  | { readonly ok: true; readonly pushId: PushId }
  | { readonly ok: false; readonly lines: readonly string[] }

/** How often objects were scrubbed from the repository; read it before git receives a push. */
export function scrubCount(
  { runner }: Pick<Ports, "runner">,
  { companyId }: Pusher,
): Promise<number> {
  return runner.readLatest(codeStreamOf(companyId), scrubCountOf)
}

/**
 * Checks a push and records the decision. Call `completePush` after an accepted push, when git has ended; if
 * this throws, nothing of the push may be applied.
 *
 * @param before the scrub count from before git received the push
 * @throws SecretScanFailed, and the errors of `Runner.execute` and of `push`
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
  const checkInput = { pushId, push, readCores, scrubsBefore: before, defaultBranch }
  const checked = await runChecks(ports, pusher, checkInput)
  const refused =
    "code" in checked ? checked : await recordAcceptance(ports, pusher, checkInput, checked)
  if (refused === null) return { ok: true, pushId }
  await recordRefusal(ports, pusher, pushId, refused)
  return { ok: false, lines: pushRefusalLines(refused) }
}

/**
 * Records whether the refs of a push moved, and updates `HEAD`. A repeated call records nothing new. Returns
 * false if the refs kept moving; then it must be repeated later.
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

interface CheckedPush {
  readonly pushId: PushId
  readonly push: IncomingPush
  readonly readCores: ReadCores
  /** The scrub count from before git received the push. */
  readonly scrubsBefore: number
  /** The default branch after the push. */
  readonly defaultBranch: string
}

/** Runs the checks in order, until one refuses the push. */
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

/** Records the acceptance; returns a refusal if the state changed meanwhile, for example to too many refs. */
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
  const accepted = { pushId, keyId, personId, updates, core, objects, bytes, scrubCount: scrubs }
  const command: AcceptPush = { type: "AcceptPush", ...accepted }
  const outcome = await ports.runner.execute(codeStreamOf(companyId), command, cause)
  if (outcome.accepted) return null
  const advice = "Nothing of this push was applied."
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
  const shownLines = await ports.sealing.seal(companyId, COMPANY_SUBJECT, text)
  const { keyId, personId } = cause
  const refusal = { pushId, code, shownLines, keyId, personId }
  const command = {
    type: "RefusePush" as const,
    ...refusal,
    isReferenced: refused.hasSwitchedOffKey === true,
  }
  const outcome = await ports.runner.execute(codeStreamOf(companyId), command, cause)
  if (!outcome.accepted) throw new Error(`${pushId} was not refused: ${outcome.refusal.code}`)
}

/** Checks the names and the number of the refs; null if they are valid. */
function checkRefs({ updates }: IncomingPush): PushRefusal | null {
  const faults = refFaults(updates)
  if (faults.length === 0) return null
  const locations = faults.map(({ ref, message }) =>
    ref === null ? message : `${ref}: ${message}`,
  )
  const isTooMany = faults.some(({ ref }) => ref === null)
  const reason = "Push rejected: it updates refs that cannot be pushed."
  const advice = isTooMany ? "Push them in parts." : "Use other names for these branches and tags."
  return { code: "refs", reason, locations, advice }
}

/** Refuses a push that deletes or forces the default branch; null for others. */
async function checkDefaultBranch(
  push: IncomingPush,
  defaultBranch: string,
): Promise<PushRefusal | null> {
  const refused = { code: "default_branch" as const, locations: [] }
  if (deletesDefaultBranch(push.updates, defaultBranch)) {
    const reason = "Push rejected: the default branch cannot be deleted."
    const advice = "Make another branch the default branch first (repository default-branch)."
    return { ...refused, reason, advice }
  }
  const moved = defaultBranchMove(push.updates, defaultBranch)
  if (moved === null || (await push.isAncestor(moved.old, moved.new))) return null
  const reason = "Push rejected: the default branch cannot be forced."
  return {
    ...refused,
    reason,
    advice: "Fetch, rebase your commits, and push again.",
  }
}

/** Outcome of an import: its push (null if it had nothing new), or the reasons of the refusal. */
export type ImportResult =
  | { readonly ok: true; readonly pushId: PushId | null }
  | { readonly ok: false; readonly lines: readonly string[] }

/**
 * Imports a bundle.
 *
 * @param isNothing whether the import has nothing worth a commit; then it ends without a fact
 * @throws the errors of the repositories and of the checks
 */
export async function importCheckedBundle(
  ports: Pick<Ports, "counters" | "log" | "repositories" | "runner" | "sealing" | "secretScan">,
  pusher: Pusher,
  bundle: AsyncIterable<Uint8Array>,
  isNothing: (push: IncomingPush) => Promise<boolean> = async () => false,
): Promise<ImportResult> {
  const before = await scrubCount(ports, pusher)
  let pushId: PushId | null = null
  let isSkipped = false
  const verdict = await ports.repositories.importBundle(pusher.companyId, bundle, async (push) => {
    isSkipped = await isNothing(push)
    if (isSkipped) return { ok: false, lines: ["The bundle has nothing new."] }
    const decision = await checkPush(ports, pusher, push, before)
    if (decision.ok) ({ pushId } = decision)
    return decision.ok ? { ok: true } : decision
  })
  // Also if git failed after the acceptance: the refs show the result.
  if (pushId !== null) await completePush(ports, pusher, pushId)
  if (isSkipped) return { ok: true, pushId: null }
  return verdict.ok ? { ok: true, pushId } : { ok: false, lines: verdict.lines }
}

/** Reads the protected cores of commits; commits without one may be missing from the result. */
type ReadCores = (commits: Iterable<string>) => Promise<ReadonlyMap<string, ProtectedCore>>

/** Checks the protected core of each new commit; null if all are unchanged or official. */
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
    reason: "Push rejected: the protected core (src/sealed) must match an official release.",
    locations,
    advice: "Restore src/sealed in each of these commits (git rebase -i), and push again.",
  }
}

/** The tree of the protected core of a commit; null if it has none. */
async function coreTreeIdOf(readCores: ReadCores, commit: string): Promise<string | null> {
  const core = (await readCores([commit])).get(commit)
  return core?.kind === "tree" ? core.id : null
}

const ABSENT: ProtectedCore = { kind: "absent" }

/** Reads the protected core of each commit once, because each read starts a git process. */
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
