/**
 * The default branch of a repository. The facts name it once a push has moved it or an operator has chosen it,
 * and `HEAD` follows them. A repository whose `HEAD` points to no branch takes the first one that comes.
 */
import type { Head, Push } from "../../adapters/git/port.ts"
import { codeOf } from "../../domain/code/aggregates.ts"
import { defaultBranchTag } from "../../domain/code/code-views.ts"
import { firstBranch } from "../../domain/code/ref-rules.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Ports } from "../frame/ports.ts"
import { tagOfRef } from "./compare-refs.ts"

/**
 * Points `HEAD` to the default branch that the facts name. Where they name none and `HEAD` points to no branch,
 * it takes the first one. Answers where it points then.
 *
 * @throws as `Runner.readLatest` and `Repositories.head` do
 */
export async function followDefaultBranch(
  ports: Pick<Ports, "repositories" | "runner" | "sealing">,
  companyId: CompanyId,
): Promise<Head> {
  const { repositories, runner } = ports
  const head = await repositories.head(companyId)
  const known = await runner.readLatest(codeOf(companyId), defaultBranchTag)
  const isKnown = known === null || known === (await tagOfRef(ports, companyId, head.ref))
  if (head.isBorn && isKnown) return head
  const refs = (await repositories.tips(companyId)).map(({ ref }) => ref)
  const named = await refWithTag(ports, companyId, refs, known)
  const ref = named ?? (head.isBorn ? head.ref : firstBranch(refs))
  if (ref === null) return head
  if (ref !== head.ref) await repositories.setHead(companyId, ref)
  return { ref, isBorn: true }
}

/**
 * The default branch once a push has landed: the one there is, or the one that the push brings. Of several new
 * branches it is the one that the facts name, or that the sender's `HEAD` points to, or that has a usual name.
 *
 * @throws as `followDefaultBranch` does
 */
export async function defaultBranchAfter(
  ports: Pick<Ports, "repositories" | "runner" | "sealing">,
  companyId: CompanyId,
  push: Push,
): Promise<string> {
  const before = await push.head()
  if (before.isBorn) return before.ref
  // Branches of an older version of this program may be there, without a `HEAD` that points to one.
  const head = await followDefaultBranch(ports, companyId)
  if (head.isBorn) return head.ref
  const made = push.updates.filter((one) => one.new !== null)
  const refs = made.map(({ ref }) => ref)
  const known = await ports.runner.readLatest(codeOf(companyId), defaultBranchTag)
  const atHead = made.filter((one) => one.new === push.sentHead).map(({ ref }) => ref)
  const named = await refWithTag(ports, companyId, refs, known)
  return named ?? firstBranch(atHead) ?? firstBranch(refs) ?? head.ref
}

/** The ref with this keyed hash; null where none of them has it. */
async function refWithTag(
  ports: Pick<Ports, "sealing">,
  companyId: CompanyId,
  refs: readonly string[],
  tag: string | null,
): Promise<string | null> {
  if (tag === null) return null
  for (const ref of refs) if ((await tagOfRef(ports, companyId, ref)) === tag) return ref
  return null
}
