/** Creates, shows and configures a company's repository. */
import { GitUnavailable, RepositoryNotFound } from "../../../adapters/git/port.ts"
import { codeStreamOf } from "../../../domain/code/aggregates.ts"
import { hasRepository } from "../../../domain/code/code-views.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import {
  requireAccepted,
  companyInput,
  findCompany,
  findUnerasedCompany,
} from "../../frame/operator/inputs.ts"
import type { AdminContext, AdminOperation } from "../../frame/operator/operation.ts"
import { OperatorRefused, operation, OWNER_OR_ADMIN } from "../../frame/operator/operation.ts"
import type { Ports } from "../../frame/ports.ts"
import { reconcileRefs, syncHead, hashOfRef } from "../reconcile-refs.ts"
import { z } from "zod"
import { DEFAULT_BRANCH } from "../../../domain/code/ref-rules.ts"
import { renderFields, renderTable } from "../../frame/operator/cli/render.ts"
import { escapeNonPrintable } from "../push-refusal.ts"
import { COMPANY_SUBJECT } from "../../../adapters/sealing/port.ts"

/**
 * Creates the repository and records it; an existing one stays.
 *
 * @param replaceLost whether an empty repository may replace one that is lost
 * @throws OperatorRefused
 */
export async function createRepository(
  { ports, cause }: AdminContext,
  companyId: CompanyId,
  replaceLost = false,
): Promise<void> {
  const { repositories, runner } = ports
  const stream = codeStreamOf(companyId)
  await withRepository(ports, companyId, async () => {
    const isLost =
      (await runner.readLatest(stream, hasRepository)) && !(await repositories.has(companyId))
    if (isLost && !replaceLost) throw lostRepository(companyId, ports.codeDir)
    // The folder first: a fact without it would be an unusable repository.
    await repositories.create(companyId)
    // A replaced repository has lost its refs.
    if (isLost) await reconcileRefs(ports, { companyId, cause }, null)
  })
  requireAccepted(await runner.execute(stream, { type: "CreateRepository" }, cause))
}

function lostRepository(companyId: CompanyId, codeDir: string): OperatorRefused {
  const message =
    `The repository of ${companyId} is missing from ${codeDir}. Check that CODE_DIR is the right folder and is ` +
    "mounted. If the repository is lost, restore a backup, or create an empty one (repository create --replace-lost) and " +
    "import its code (repository import)."
  return new OperatorRefused("repository_lost", message)
}

/** Runs work that needs a repository. @throws OperatorRefused if git is unavailable, or there is no repository */
export async function withRepository<T>(
  { runner, codeDir }: Pick<Ports, "codeDir" | "runner">,
  companyId: CompanyId,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof RepositoryNotFound) {
      const isKnown = await runner.readLatest(codeStreamOf(companyId), hasRepository)
      if (isKnown) throw lostRepository(companyId, codeDir)
      throw new OperatorRefused(
        "no_repository",
        `${companyId} has no repository. Create it first: repository create.`,
      )
    }
    if (error instanceof GitUnavailable) throw new OperatorRefused("unavailable", error.message)
    throw error
  }
}

const REF_KINDS = [
  ["branch", "refs/heads/"],
  ["tag", "refs/tags/"],
] as const

/** Shows a repository. @throws OperatorRefused if git is unavailable, or the repository is lost */
export const showOperation: AdminOperation = operation({
  name: "repository show",
  summary: "show the branches and tags of a company's repository, with their commits",
  notes: ["Clone the repository to see its files and commits."],
  example: "repository show --company acme",
  input: z.object({ company: companyInput }),
  consoleAccess: { permission: "Download and pull the code" },
  run: async ({ ports }, { company: named }) => {
    const companyId = await findCompany(ports, named)
    const [, prefix] = REF_KINDS[0]
    const isKnown = await ports.runner.readLatest(codeStreamOf(companyId), hasRepository)
    if (!isKnown) {
      const branch = DEFAULT_BRANCH.slice(prefix.length)
      return { companyId, isThere: false, branch, refs: [] }
    }
    const { head, tips } = await withRepository(ports, companyId, async () => ({
      head: await syncHead(ports, companyId),
      tips: await ports.repositories.listRefs(companyId),
    }))
    const refs = REF_KINDS.flatMap(([kind, before]) =>
      tips
        .filter(({ ref }) => ref.startsWith(before))
        .map(({ ref, id }) => ({ kind, name: escapeNonPrintable(ref.slice(before.length)), id })),
    )
    const branch = escapeNonPrintable(head.ref.slice(prefix.length))
    return { companyId, isThere: true, branch, refs }
  },
  render: ({ companyId, isThere, branch, refs }, page) => {
    const fields = Object.entries({ companyId, isThere, branch })
    return renderFields(fields) + renderTable(refs, page, "branches and tags")
  },
})

const BRANCHES = "refs/heads/"
const MAX_NAMED = 20
const CORE = "src/sealed"

/** Changes the default branch. @throws OperatorRefused if there is no such branch, or a push is in progress */
export const defaultBranchOperation: AdminOperation = operation({
  name: "repository default-branch",
  summary: "change the default branch of a company's repository",
  notes: [
    "Clones check out the default branch; new branches of boxes start from it; uploads and zip exports use it. A push cannot delete or force it.",
  ],
  example: "repository default-branch trunk --company acme",
  changes: true,
  input: z.object({
    branch: z.string().meta({ description: "the branch name", argument: "BRANCH" }),
    company: companyInput,
  }),
  consoleAccess: { roles: OWNER_OR_ADMIN },
  run: async ({ ports, cause }, { branch, company: named }) => {
    const companyId = await findUnerasedCompany(ports, named)
    return withRepository(ports, companyId, async () => {
      const tip = await tipOf(ports, companyId, branch)
      const ref = `${BRANCHES}${branch}`
      const command = {
        type: "ChangeDefaultBranch" as const,
        ref: await ports.sealing.seal(companyId, COMPANY_SUBJECT, ref),
        refHash: await hashOfRef(ports, companyId, ref),
        tree: await coreTreeAt(ports, companyId, tip),
      }
      requireAccepted(await ports.runner.execute(codeStreamOf(companyId), command, cause))
      await syncHead(ports, companyId)
      return { companyId, branch }
    })
  },
})

/** The commit of a branch. @throws OperatorRefused if there is no such branch */
async function tipOf(
  { repositories }: Pick<Ports, "repositories">,
  companyId: CompanyId,
  branch: string,
): Promise<string> {
  const tips = await repositories.listRefs(companyId)
  const found = tips.find(({ ref }) => ref === `${BRANCHES}${branch}`)
  if (found !== undefined) return found.id
  const names = tips
    .filter(({ ref }) => ref.startsWith(BRANCHES))
    .map(({ ref }) => escapeNonPrintable(ref.slice(BRANCHES.length)))
  const shown = names.slice(0, MAX_NAMED).join(", ")
  const more = names.length > MAX_NAMED ? `, and ${names.length - MAX_NAMED} more` : ""
  const hint = names.length === 0 ? "Push a branch first." : `Branches: ${shown}${more}.`
  throw new OperatorRefused("no_branch", `${companyId} has no branch of that name. ${hint}`)
}

/** The tree of the protected core at a commit; null if it has none. */
async function coreTreeAt(
  { repositories }: Pick<Ports, "repositories">,
  companyId: CompanyId,
  commit: string,
): Promise<string | null> {
  const found = await repositories.readFile(companyId, commit, CORE, 0)
  return found?.mode === "40000" ? found.id : null
}
