/** Companies' repositories, as an operator makes them, fills them and takes them out. */
import { createReadStream } from "node:fs"
import { stat } from "node:fs/promises"
import { basename } from "node:path"
import { z } from "zod"
import type { Push } from "../../../adapters/git/port.ts"
import { GitFailed } from "../../../adapters/git/port.ts"
import { ledgerOf } from "../../../domain/charging/aggregates.ts"
import { deletionOf } from "../../../domain/charging/deletion.ts"
import { DEFAULT_BRANCH } from "../../../domain/code/ref-rules.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import {
  company,
  findCompany,
  findLivingCompany,
  renderList,
  showWrites,
  words,
} from "../../frame/operator/inputs.ts"
import type { AdminContext, AdminOperation, AdminPorts } from "../../frame/operator/operation.ts"
import { FILES_WRITTEN, operation, OperatorRefused } from "../../frame/operator/operation.ts"
import { followDefaultBranch } from "../compare-refs.ts"
import { inOneLine } from "../refused-push.ts"
import type { TakenIn } from "../push-checks.ts"
import { takeIn } from "../push-checks.ts"
import { make, used } from "./making.ts"
import type { ZippedCommit } from "../upload/commit-of-zip.ts"
import { commitOfZip } from "../upload/commit-of-zip.ts"
import { BadZip, withZip } from "../upload/zip-files.ts"
import { companiesWithCode } from "../../../projections/code/repositories.ts"

const MADE_NOTE = "A company without a repository is given one."
const CHECKED_NOTE = "It is checked as a push is; all of it is taken, or nothing."

const create = operation({
  name: "repository create",
  summary: "make a company's repository, an empty one",
  notes: [
    "Of a company whose repository is lost, --anew makes an empty one instead. Before: is CODE_DIR the folder, and mounted?",
  ],
  example: "repository create --company acme",
  changes: true,
  input: z.object({
    company,
    anew: z
      .boolean()
      .default(false)
      .meta({ description: "also where the facts know one that is lost" }),
  }),
  console: {
    permission: "Push and upload code",
    bars: ({ input }) =>
      input.anew ? "A repository that is lost is for whoever runs this service to look for." : null,
  },
  run: async (context, { company: named, anew }) => {
    const companyId = await findOpenCompany(context.ports, named)
    await make(context, companyId, anew)
    const { ref } = await used(context.ports, companyId, () =>
      followDefaultBranch(context.ports, companyId),
    )
    return { companyId, branch: nameOf(ref) }
  },
})

const importFile = operation({
  name: "repository import",
  summary: "take a bundle's branches and tags into a company's repository",
  notes: [
    `${CHECKED_NOTE} ${MADE_NOTE}`,
    "git bundle create FILE --all writes one; repository export does.",
  ],
  example: "repository import acme.bundle --company acme",
  changes: true,
  isPatient: true,
  input: z.object({
    file: z.string().meta({ description: "the bundle", argument: "FILE", form: "file" }),
    company,
  }),
  console: { permission: "Push and upload code", rate: FILES_WRITTEN },
  run: async (context, { file, company: named }) => {
    const companyId = await findOpenCompany(context.ports, named)
    const { ports, cause } = context
    const pusher = { companyId, cause }
    const taken = await reading(file, async () => {
      await make(context, companyId)
      return takeIn(ports, pusher, createReadStream(file))
    })
    return {
      companyId,
      pushId: pushOf(taken),
      refs: (await ports.repositories.tips(companyId)).length,
    }
  },
})

const exportFile = operation({
  name: "repository export",
  summary: "write a company's repository to a file",
  notes: [
    "bundle: all branches and tags with their history; git clone FILE reads it. zip: the files of the default branch.",
    "The file appears whole or not at all, and is its owner's alone to read. --out - writes to standard output instead.",
  ],
  example: "repository export --company acme --out acme.bundle",
  hasFile: true,
  isPrivate: true,
  isPatient: true,
  input: z.object({
    company,
    format: z
      .enum(["bundle", "zip"])
      .default("bundle")
      .meta({ description: "the form of the file" }),
  }),
  console: { permission: "Download and pull the code", rate: FILES_WRITTEN },
  run: async ({ ports, send }, { company: named, format }) => {
    const companyId = await findCompany(ports, named)
    return used(ports, companyId, async () => {
      const { repositories } = ports
      const tips = await repositories.tips(companyId)
      let bytes = 0
      const counted = async (piece: Uint8Array) => {
        bytes += piece.length
        await send(piece)
      }
      if (format === "bundle") {
        if (!(await repositories.bundle(companyId, counted))) throw empty(companyId)
        return { companyId, format, refs: tips.length, bytes }
      }
      const head = await followDefaultBranch(ports, companyId)
      const tip = tips.find(({ ref }) => ref === head.ref)
      if (tip === undefined) throw empty(companyId)
      await repositories.archive(companyId, tip.id, "zip", counted)
      return { companyId, format, commit: tip.id, bytes }
    })
  },
})

const upload = operation({
  name: "repository upload",
  summary: "make the files of a zip one commit on a company's default branch",
  notes: [
    `The commit has the files of the zip and no others. ${CHECKED_NOTE} ${MADE_NOTE}`,
    "Links are refused, and a folder .git. At most 100,000 files, 256 MiB each, 2 GiB unpacked.",
  ],
  example: 'repository upload app.zip --company acme --message "The first version"',
  changes: true,
  isPatient: true,
  input: z.object({
    file: z.string().meta({ description: "the zip", argument: "ZIP", form: "file" }),
    company,
    message: words.optional().meta({ description: "what the commit says", takes: "text" }),
  }),
  console: { permission: "Push and upload code", rate: FILES_WRITTEN },
  run: async (context, { file, company: named, message }) => {
    const { ports, cause } = context
    const companyId = await findOpenCompany(ports, named)
    return reading(file, () =>
      withZip(file, async (files) => {
        const { branch, parent } = await defaultTipOf(context, companyId)
        const commit = await commitOfZip(files, {
          branch,
          parent,
          author: cause.actor ?? "operator",
          at: ports.clock.now(),
          message: message ?? `Upload ${basename(file)}`,
        })
        await make(context, companyId)
        const isSame = (push: Push) => hasSameFiles(push, parent, commit)
        const pushId = pushOf(await takeIn(ports, { companyId, cause }, commit.bundle(), isSame))
        const found = pushId === null ? parent : commit.id
        return { companyId, pushId, commit: found, files: files.length }
      }),
    )
  },
})

/** A company that is not deleted: what is made for it now would go with it. @throws OperatorRefused */
async function findOpenCompany(
  ports: Pick<AdminPorts, "runner" | "sealing">,
  named: string,
): Promise<CompanyId> {
  const companyId = await findLivingCompany(ports, named)
  if ((await ports.runner.readLatest(ledgerOf(companyId), deletionOf)) === null) return companyId
  const message = `The company ${companyId} is deleted; "company restore" brings it back for 14 days.`
  throw new OperatorRefused("company_deleted", message)
}

const nameOf = (ref: string): string => ref.slice("refs/heads/".length)

/** The default branch and where it points; null where no branch, or no repository, is there. @throws OperatorRefused */
async function defaultTipOf(
  { ports }: AdminContext,
  companyId: CompanyId,
): Promise<{ readonly branch: string; readonly parent: string | null }> {
  const { repositories } = ports
  return used(ports, companyId, async () => {
    if (!(await repositories.has(companyId))) return { branch: DEFAULT_BRANCH, parent: null }
    const { ref: branch } = await followDefaultBranch(ports, companyId)
    const tips = await repositories.tips(companyId)
    return { branch, parent: tips.find(({ ref }) => ref === branch)?.id ?? null }
  })
}

/** Whether the branch has the very files already. */
async function hasSameFiles(
  push: Push,
  parent: string | null,
  commit: ZippedCommit,
): Promise<boolean> {
  if (parent === null) return false
  const tops: string[] = []
  for await (const { entries } of push.folders([parent, commit.id], "")) {
    tops.push(JSON.stringify(entries))
  }
  return tops.length === 2 && tops[0] === tops[1]
}

/** The push that code was taken in by; null where it had nothing new. @throws OperatorRefused */
function pushOf(taken: TakenIn): string | null {
  if (taken.ok) return taken.pushId
  throw new OperatorRefused("push_refused", taken.lines.map(inOneLine).join("\n"))
}

/** Does what reads a file of the operator's. @throws OperatorRefused where that cannot be read */
async function reading<T>(file: string, work: () => Promise<T>): Promise<T> {
  try {
    if (!(await stat(file)).isFile()) throw new BadZip("it is no file")
    return await work()
  } catch (error) {
    if (error instanceof BadZip) {
      throw new OperatorRefused("bad_file", `${file} cannot be taken: ${error.message}.`)
    }
    if (error instanceof GitFailed) {
      throw new OperatorRefused("bad_file", `git cannot take ${file}: ${error.message}`)
    }
    const { code, path } = error as NodeJS.ErrnoException
    if (path !== file || code === undefined) throw error
    throw new OperatorRefused("bad_file", `The server cannot read ${file} (${code}).`)
  }
}

const empty = (companyId: CompanyId): OperatorRefused =>
  new OperatorRefused("empty_repository", `The repository of ${companyId} is empty.`)

/** Operations on repositories. */
export const repositoryOperations: readonly AdminOperation[] = [
  create,
  importFile,
  exportFile,
  upload,
]

/** Lists them. */
export const listedOperation: AdminOperation = operation({
  name: "repository list",
  summary: "list the companies that have a repository, and whether it is in its folder",
  example: "repository list --missing",
  input: z.object({
    missing: z.boolean().default(false).meta({ description: "only those that are not there" }),
  }),
  run: async ({ ports }, { missing }) => {
    await showWrites(ports)
    const { repositories, codeDir: folder } = ports
    const rows: { readonly companyId: string; readonly isThere: boolean }[] = []
    for (const companyId of await companiesWithCode(ports.readAll)) {
      const isThere = await repositories.has(companyId)
      if (!(missing && isThere)) rows.push({ companyId, isThere })
    }
    return { folder, repositories: rows }
  },
  render: ({ repositories }, page) => renderList(repositories, null, page, "repositories"),
})
