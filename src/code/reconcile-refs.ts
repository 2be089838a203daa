/** The refs of a repository beside those that the facts tell of: what differs becomes a fact. */
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

/** A fact holds so many refs at most. */
const MAX_REFS_PER_EVENT = 500
/** Who meets other pushes so often comes again later. */
const MAX_ATTEMPTS = 50

/** The keyed hash by which a ref is known in facts. */
export function hashOfRef(
  { sealing }: Pick<Ports, "sealing">,
  companyId: CompanyId,
  ref: string,
): Promise<string> {
  return sealing.tag(companyId, `ref\n${ref}`)
}

/**
 * Looks at the refs that there are and writes down what the facts do not tell; a push that was accepted
 * ends by it, as landed or not.
 *
 * @param pushId the push that has ended; null to look at the refs alone
 * @returns false where the refs moved on all the while: to be done again later
 * @throws as `Runner.execute` and `Repositories.tips` do
 */
export async function reconcileRefs(
  ports: Pick<Ports, "repositories" | "runner" | "sealing">,
  { companyId, cause }: Pusher,
  pushId: PushId | null,
): Promise<boolean> {
  const { runner, repositories } = ports
  const stream = codeStreamOf(companyId)
  for (let tries = 0; tries < MAX_ATTEMPTS; tries += 1) {
    // First the facts: what is accepted behind them is seen by their number.
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
    // Nothing more to tell: what differs still is on its way by a push of its own.
    if (outcome.accepted && outcome.facts.length === 0) return true
  }
  return false
}

/** As many as a fact holds, first those that the push moves. */
function selectRefs({ updatedRefHashes }: KnownRefs, differing: ReturnType<typeof differingRefs>) {
  const own = new Set(updatedRefHashes)
  const isOwn = ({ refHash }: { readonly refHash: string }) => own.has(refHash)
  const others = differing.filter((one) => !isOwn(one))
  return [...differing.filter(isOwn), ...others].slice(0, MAX_REFS_PER_EVENT)
}

// The default branch of a repository. The facts name it once a push has moved it or an operator has chosen it,
// and `HEAD` follows them. A repository whose `HEAD` points to no branch takes the first one that comes.

/**
 * Points `HEAD` to the default branch that the facts name. Where they name none and `HEAD` points to no branch,
 * it takes the first one. Answers where it points then.
 *
 * @throws as `Runner.readLatest` and `Repositories.head` do
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
 * The default branch once a push has landed: the one there is, or the one that the push brings. Of several new
 * branches it is the one that the facts name, or that the sender's `HEAD` points to, or that has a usual name.
 *
 * @throws as `syncHead` does
 */
export async function defaultBranchAfterPush(
  ports: Pick<Ports, "repositories" | "runner" | "sealing">,
  companyId: CompanyId,
  push: IncomingPush,
): Promise<string> {
  const before = await push.readHead()
  if (before.isBorn) return before.ref
  // Branches of an older version of this program may be there, without a `HEAD` that points to one.
  const head = await syncHead(ports, companyId)
  if (head.isBorn) return head.ref
  const made = push.updates.filter((one) => one.new !== null)
  const refs = made.map(({ ref }) => ref)
  const known = await ports.runner.readLatest(codeStreamOf(companyId), defaultBranchHashOf)
  const atHead = made.filter((one) => one.new === push.senderHead).map(({ ref }) => ref)
  const named = await refWithHash(ports, companyId, refs, known)
  return named ?? chooseDefaultBranch(atHead) ?? chooseDefaultBranch(refs) ?? head.ref
}

/** The ref with this keyed hash; null where none of them has it. */
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
