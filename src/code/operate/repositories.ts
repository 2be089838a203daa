/** Operations that create, fill, export and list companies' repositories. */
import { createReadStream } from "node:fs"
import { stat } from "node:fs/promises"
import { basename } from "node:path"
import { z } from "zod"
import type { IncomingPush } from "../../../adapters/git/port.ts"
import { GitFailed } from "../../../adapters/git/port.ts"
import { ledgerStreamOf } from "../../../domain/charging/aggregates.ts"
import { deletionOf } from "../../../domain/charging/deletion.ts"
import { DEFAULT_BRANCH } from "../../../domain/code/ref-rules.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import {
  companyInput,
  findCompany,
  findUnerasedCompany,
  renderList,
  waitForOwnWrites,
  textInput,
} from "../../frame/operator/inputs.ts"
import type { AdminContext, AdminOperation, AdminPorts } from "../../frame/operator/operation.ts"
import {
  CONSOLE_FILE_RATE_LIMIT,
  operation,
  OperatorRefused,
} from "../../frame/operator/operation.ts"
import { syncHead } from "../reconcile-refs.ts"
import { escapeNonPrintable } from "../push-refusal.ts"
import type { ImportResult } from "../push-checks.ts"
import { importCheckedBundle } from "../push-checks.ts"
import { createRepository, withRepository } from "./create-repository.ts"
import type { ZippedCommit } from "../upload/commit-from-zip.ts"
import { commitFromZip } from "../upload/commit-from-zip.ts"
import { BadZip, withZip } from "../upload/zip-files.ts"
import { listCompaniesWithRepository } from "../../../projections/code/repositories.ts"

const CREATED_NOTE = "A company without a repository gets one."
const CHECKED_NOTE = "It passes the checks of a push, completely or not at all."

const create = operation({
  name: "repository create",
  summary: "create an empty repository for a company",
  notes: [
    "If the repository is lost, --replace-lost creates an empty one in its place. First check that CODE_DIR is the right folder and is mounted.",
  ],
  example: "repository create --company acme",
  changes: true,
  input: z.object({
    company: companyInput,
    replaceLost: z
      .boolean()
      .default(false)
      .meta({ description: "replace a lost repository with an empty one" }),
  }),
  consoleAccess: {
    permission: "Push and upload code",
    denialReason: ({ input }) =>
      input.replaceLost
        ? "The repository is lost. Only the operator of this service can replace it."
        : null,
  },
  run: async (context, { company: named, replaceLost }) => {
    const companyId = await findActiveCompany(context.ports, named)
    await createRepository(context, companyId, replaceLost)
    const { ref } = await withRepository(context.ports, companyId, () =>
      syncHead(context.ports, companyId),
    )
    return { companyId, branch: nameOf(ref) }
  },
})

const importFile = operation({
  name: "repository import",
  summary: "import a bundle's branches and tags into a company's repository",
  notes: [
    `${CHECKED_NOTE} ${CREATED_NOTE}`,
    "git bundle create FILE --all writes a bundle; so does repository export.",
  ],
  example: "repository import acme.bundle --company acme",
  changes: true,
  isLongRunning: true,
  input: z.object({
    file: z.string().meta({ description: "the bundle", argument: "FILE", form: "file" }),
    company: companyInput,
  }),
  consoleAccess: { permission: "Push and upload code", rateLimit: CONSOLE_FILE_RATE_LIMIT },
  run: async (context, { file, company: named }) => {
    const companyId = await findActiveCompany(context.ports, named)
    const { ports, cause } = context
    const pusher = { companyId, cause }
    const imported = await withOperatorFile(file, async () => {
      await createRepository(context, companyId)
      return importCheckedBundle(ports, pusher, createReadStream(file))
    })
    return {
      companyId,
      pushId: pushIdOf(imported),
      refs: (await ports.repositories.listRefs(companyId)).length,
    }
  },
})

const exportFile = operation({
  name: "repository export",
  summary: "write a company's repository to a file",
  notes: [
    "bundle: all branches and tags with their history; git clone FILE reads it. zip: the files of the default branch.",
    "The file is written completely or not at all, and only its owner can read it. --out - writes to standard output.",
  ],
  example: "repository export --company acme --out acme.bundle",
  hasFile: true,
  isPrivate: true,
  isLongRunning: true,
  input: z.object({
    company: companyInput,
    format: z
      .enum(["bundle", "zip"])
      .default("bundle")
      .meta({ description: "the format of the file" }),
  }),
  consoleAccess: { permission: "Download and pull the code", rateLimit: CONSOLE_FILE_RATE_LIMIT },
  run: async ({ ports, send }, { company: named, format }) => {
    const companyId = await findCompany(ports, named)
    return withRepository(ports, companyId, async () => {
      const { repositories } = ports
      const tips = await repositories.listRefs(companyId)
      let bytes = 0
      const counted = async (piece: Uint8Array) => {
        bytes += piece.length
        await send(piece)
      }
      if (format === "bundle") {
        if (!(await repositories.bundle(companyId, counted))) throw emptyRepository(companyId)
        return { companyId, format, refs: tips.length, bytes }
      }
      const head = await syncHead(ports, companyId)
      const tip = tips.find(({ ref }) => ref === head.ref)
      if (tip === undefined) throw emptyRepository(companyId)
      await repositories.archive(companyId, tip.id, "zip", counted)
      return { companyId, format, commit: tip.id, bytes }
    })
  },
})

const upload = operation({
  name: "repository upload",
  summary: "commit the files of a zip to a company's default branch",
  notes: [
    `The commit has only the files of the zip. ${CHECKED_NOTE} ${CREATED_NOTE}`,
    "Links and a .git folder are rejected. At most 100,000 files, 256 MiB each, 2 GiB unpacked.",
  ],
  example: 'repository upload app.zip --company acme --message "The first version"',
  changes: true,
  isLongRunning: true,
  input: z.object({
    file: z.string().meta({ description: "the zip", argument: "ZIP", form: "file" }),
    company: companyInput,
    message: textInput.optional().meta({ description: "the commit message", takes: "text" }),
  }),
  consoleAccess: { permission: "Push and upload code", rateLimit: CONSOLE_FILE_RATE_LIMIT },
  run: async (context, { file, company: named, message }) => {
    const { ports, cause } = context
    const companyId = await findActiveCompany(ports, named)
    return withOperatorFile(file, () =>
      withZip(file, async (files) => {
        const { branch, parent } = await defaultTipOf(context, companyId)
        const commit = await commitFromZip(files, {
          branch,
          parent,
          author: cause.actor ?? "operator",
          at: ports.clock.now(),
          message: message ?? `Upload ${basename(file)}`,
        })
        await createRepository(context, companyId)
        const isSame = (push: IncomingPush) => isSameTree(push, parent, commit)
        const pushId = pushIdOf(
          await importCheckedBundle(ports, { companyId, cause }, commit.bundle(), isSame),
        )
        const found = pushId === null ? parent : commit.id
        return { companyId, pushId, commit: found, files: files.length }
      }),
    )
  },
})

/** Finds a company that is not deleted: new code would be deleted with it. @throws OperatorRefused */
async function findActiveCompany(
  ports: Pick<AdminPorts, "runner" | "sealing">,
  named: string,
): Promise<CompanyId> {
  const companyId = await findUnerasedCompany(ports, named)
  if ((await ports.runner.readLatest(ledgerStreamOf(companyId), deletionOf)) === null)
    return companyId
  const message = `The company ${companyId} is deleted. For 14 days "company restore" restores it.`
  throw new OperatorRefused("company_deleted", message)
}

const nameOf = (ref: string): string => ref.slice("refs/heads/".length)

/** The default branch and its commit; null without a branch or repository. @throws OperatorRefused */
async function defaultTipOf(
  { ports }: AdminContext,
  companyId: CompanyId,
): Promise<{ readonly branch: string; readonly parent: string | null }> {
  const { repositories } = ports
  return withRepository(ports, companyId, async () => {
    if (!(await repositories.has(companyId))) return { branch: DEFAULT_BRANCH, parent: null }
    const { ref: branch } = await syncHead(ports, companyId)
    const tips = await repositories.listRefs(companyId)
    return { branch, parent: tips.find(({ ref }) => ref === branch)?.id ?? null }
  })
}

/** Whether the branch already has exactly these files. */
async function isSameTree(
  push: IncomingPush,
  parent: string | null,
  commit: ZippedCommit,
): Promise<boolean> {
  if (parent === null) return false
  const tops: string[] = []
  for await (const { entries } of push.readFolders([parent, commit.id], "")) {
    tops.push(JSON.stringify(entries))
  }
  return tops.length === 2 && tops[0] === tops[1]
}

/** The push of an import; null if the import had nothing new. @throws OperatorRefused */
function pushIdOf(imported: ImportResult): string | null {
  if (imported.ok) return imported.pushId
  throw new OperatorRefused("push_refused", imported.lines.map(escapeNonPrintable).join("\n"))
}

/** Runs work that reads an operator's file. @throws OperatorRefused if the file cannot be read */
async function withOperatorFile<T>(file: string, work: () => Promise<T>): Promise<T> {
  try {
    if (!(await stat(file)).isFile()) throw new BadZip("it is not a file")
    return await work()
  } catch (error) {
    if (error instanceof BadZip) {
      throw new OperatorRefused("bad_file", `${file} cannot be used: ${error.message}.`)
    }
    if (error instanceof GitFailed) {
      throw new OperatorRefused("bad_file", `git cannot read ${file}: ${error.message}`)
    }
    const { code, path } = error as NodeJS.ErrnoException
    if (path !== file || code === undefined) throw error
    throw new OperatorRefused("bad_file", `The server cannot read ${file} (${code}).`)
  }
}

const emptyRepository = (companyId: CompanyId): OperatorRefused =>
  new OperatorRefused(
    "empty_repository",
    `The repository of ${companyId} is empty. Push or import code first.`,
  )

export const repositoryOperations: readonly AdminOperation[] = [
  create,
  importFile,
  exportFile,
  upload,
]

export const listOperation: AdminOperation = operation({
  name: "repository list",
  summary: "list the companies with a repository, and whether it exists in its folder",
  example: "repository list --missing",
  input: z.object({
    missing: z.boolean().default(false).meta({ description: "only missing repositories" }),
  }),
  run: async ({ ports }, { missing }) => {
    await waitForOwnWrites(ports)
    const { repositories, codeDir: folder } = ports
    const rows: { readonly companyId: string; readonly isThere: boolean }[] = []
    for (const companyId of await listCompaniesWithRepository(ports.readAll)) {
      const isThere = await repositories.has(companyId)
      if (!(missing && isThere)) rows.push({ companyId, isThere })
    }
    return { folder, repositories: rows }
  },
  render: ({ repositories }, page) => renderList(repositories, null, page, "repositories"),
})
