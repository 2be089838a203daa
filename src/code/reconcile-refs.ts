/** Compares the refs of a repository with the facts, and records the differences. */
import { COMPANY_SUBJECT } from "../../adapters/sealing/port.ts"
import { codeStreamOf } from "../../domain/code/aggregates.ts"
import type { KnownRefs } from "../../domain/code/code-views.ts"
import { differingRefs, knownRefs, defaultBranchHashOf } from "../../domain/code/code-views.ts"
import type { FoundRef, PushId } from "../../domain/code/code-events.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Ports } from "../frame/ports.ts"
import type { Pusher } from "./push-refusal.ts"
import type { GitHead, IncomingPush } from "../../adapters/git/port.ts"
import { chooseDefaultBranch } from "../../domain/code/ref-rules.ts"

const MAX_REFS_PER_EVENT = 500
/** After this many concurrent pushes the caller tries again later. */
const MAX_ATTEMPTS = 50

/** The keyed hash that stands for a ref in facts. */
export function hashOfRef(
  { sealing }: Pick<Ports, "sealing">,
  companyId: CompanyId,
  ref: string,
): Promise<string> {
  return sealing.tag(companyId, `ref\n${ref}`)
}

/**
 * Records the refs that differ from the facts, and ends an accepted push as completed or not.
 *
 * @param pushId the push that has ended; null to compare only the refs
 * @returns false if the refs kept moving; then it must be repeated later
 * @throws the errors of `Runner.execute` and `Repositories.listRefs`
 */
export async function reconcileRefs(
  ports: Pick<Ports, "repositories" | "runner" | "sealing">,
  { companyId, cause }: Pusher,
  pushId: PushId | null,
): Promise<boolean> {
  const { runner, repositories } = ports
  const stream = codeStreamOf(companyId)
  for (let tries = 0; tries < MAX_ATTEMPTS; tries += 1) {
    // The facts first: the command's `readVersion` detects pushes that are accepted after this read.
    const known = await runner.readLatest(stream, (state) => knownRefs(state, pushId))
    const names = new Map<string, string>()
    const tips = new Map<string, string>()
    for (const { ref, id } of await repositories.listRefs(companyId)) {
      const tag = await hashOfRef(ports, companyId, ref)
      names.set(tag, ref)
      tips.set(tag, id)
    }
    const differing = selectRefs(known, differingRefs(known, tips))
    if (differing.length === 0 && known.updatedRefHashes === null) return true
    const refs = await Promise.all(
      differing.map(async (found): Promise<FoundRef> => {
        const name = names.get(found.refHash)
        const ref =
          name === undefined ? null : await ports.sealing.seal(companyId, COMPANY_SUBJECT, name)
        return { ...found, ref }
      }),
    )
    const ending = known.updatedRefHashes === null ? null : pushId
    const command = {
      type: "ReconcileRefs" as const,
      pushId: ending,
      readVersion: known.readVersion,
      refs,
    }
    const outcome = await runner.execute(stream, command, cause)
    // The remaining differences belong to pushes in progress.
    if (outcome.accepted && outcome.facts.length === 0) return true
  }
  return false
}

/** Selects the refs of one fact, with those of the push first. */
function selectRefs({ updatedRefHashes }: KnownRefs, differing: ReturnType<typeof differingRefs>) {
  const pushed = new Set(updatedRefHashes)
  const isPushed = ({ refHash }: { readonly refHash: string }) => pushed.has(refHash)
  const others = differing.filter((one) => !isPushed(one))
  return [...differing.filter(isPushed), ...others].slice(0, MAX_REFS_PER_EVENT)
}

// The default branch: the facts name it after a push has moved it or an operator has chosen it, and `HEAD`
// follows them.

/**
 * Points `HEAD` to the default branch of the facts. If they name none and `HEAD` has no branch, the first
 * branch becomes the default. Returns the new `HEAD`.
 *
 * @throws the errors of `Runner.readLatest` and `Repositories.readHead`
 */
export async function syncHead(
  ports: Pick<Ports, "repositories" | "runner" | "sealing">,
  companyId: CompanyId,
): Promise<GitHead> {
  const { repositories, runner } = ports
  const head = await repositories.readHead(companyId)
  const known = await runner.readLatest(codeStreamOf(companyId), defaultBranchHashOf)
  const isKnown = known === null || known === (await hashOfRef(ports, companyId, head.ref))
  if (head.isBorn && isKnown) return head
  const refs = (await repositories.listRefs(companyId)).map(({ ref }) => ref)
  const named = await refWithHash(ports, companyId, refs, known)
  const ref = named ?? (head.isBorn ? head.ref : chooseDefaultBranch(refs))
  if (ref === null) return head
  if (ref !== head.ref) await repositories.setHead(companyId, ref)
  return { ref, isBorn: true }
}

/**
 * The default branch after a push: the existing one, or one of the push. Of several new branches it is the one
 * that the facts name, the sender's `HEAD` points to, or that has a usual name.
 *
 * @throws the errors of `syncHead`
 */
export async function defaultBranchAfterPush(
  ports: Pick<Ports, "repositories" | "runner" | "sealing">,
  companyId: CompanyId,
  push: IncomingPush,
): Promise<string> {
  const before = await push.readHead()
  if (before.isBorn) return before.ref
  // Repositories of older versions may have branches, but no `HEAD` that points to one.
  const head = await syncHead(ports, companyId)
  if (head.isBorn) return head.ref
  const made = push.updates.filter((one) => one.new !== null)
  const refs = made.map(({ ref }) => ref)
  const known = await ports.runner.readLatest(codeStreamOf(companyId), defaultBranchHashOf)
  const atHead = made.filter((one) => one.new === push.senderHead).map(({ ref }) => ref)
  const named = await refWithHash(ports, companyId, refs, known)
  return named ?? chooseDefaultBranch(atHead) ?? chooseDefaultBranch(refs) ?? head.ref
}

/** The ref with this keyed hash; null if there is none. */
async function refWithHash(
  ports: Pick<Ports, "sealing">,
  companyId: CompanyId,
  refs: readonly string[],
  tag: string | null,
): Promise<string | null> {
  if (tag === null) return null
  for (const ref of refs) if ((await hashOfRef(ports, companyId, ref)) === tag) return ref
  return null
}
