/**
 * Repositories in backups. A backup stores each repository as a bundle in a blob after the events, so it is
 * never older than its facts. The next start after a restore imports the bundles, also after a crash.
 */
import { join } from "node:path"
import type { Blob } from "../../adapters/postgres/blobs/port.ts"
import { GitFailed, RepositoryNotFound, repositoryFolderName } from "../../adapters/git/port.ts"
import { CompanyErased, COMPANY_SUBJECT } from "../../adapters/sealing/port.ts"
import { codeStreamOf } from "../../domain/code/aggregates.ts"
import { hasRepository } from "../../domain/code/code-views.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { listCompaniesWithRepository } from "../../projections/code/repositories.ts"
import { causedBy } from "../frame/kernel/envelope.ts"
import { OperatorRefused } from "../frame/operator/operation.ts"
import type { Ports } from "../frame/ports.ts"
import type { SliceBackup } from "../frame/slice.ts"
import { reconcileRefs, syncHead } from "./reconcile-refs.ts"
import { streamFromSender } from "./company-code.ts"

/** Blob id of a company's bundle; an empty blob is an empty repository. */
const BUNDLE = "repository-bundle"
const READ_MODEL_WAIT_MS = 60_000

/** Adds repositories to backups, and restores them. */
export const repositoryBackups: SliceBackup = {
  stage: addBundles,
  unstage: removeBundles,
  restore: restoreBundles,
}

async function addBundles(
  ports: Ports,
  progress: (message: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const { projector, store, readAll } = ports
  if (
    !(await projector.waitUntilWritten(await store.head(), READ_MODEL_WAIT_MS, ["repositories"]))
  ) {
    throw new Error(
      "the read model of repositories is behind or stopped: the backup would miss some of them",
    )
  }
  // Bundles of an earlier restore are not in their repositories yet.
  await restoreBundles(ports, progress)
  const companies = await listCompaniesWithRepository(readAll)
  for (const [i, companyId] of companies.entries()) {
    signal.throwIfAborted()
    progress(`${i} of ${companies.length} repositories`)
    await addBundle(ports, companyId)
  }
}

/** Stores a company's repository in its blob; nothing if it was erased meanwhile. */
async function addBundle(
  ports: Pick<Ports, "blobs" | "codeDir" | "repositories" | "runner">,
  companyId: CompanyId,
): Promise<void> {
  const { blobs, repositories, runner } = ports
  const bundle = (send: (piece: Uint8Array) => Promise<void>) =>
    repositories.bundle(companyId, send)
  const blob = { companyId, subject: COMPANY_SUBJECT, blobId: BUNDLE }
  // A failed backup may have left a blob.
  await blobs.delete(companyId, BUNDLE)
  try {
    await blobs.write(blob, streamFromSender(bundle), { maxBytes: Number.MAX_SAFE_INTEGER })
  } catch (error) {
    if (error instanceof CompanyErased) return
    if (!(await runner.readLatest(codeStreamOf(companyId), hasRepository))) return
    const isRepositoryError = error instanceof GitFailed || error instanceof RepositoryNotFound
    throw isRepositoryError ? unreadableRepository(ports, companyId, error) : error
  }
}

function unreadableRepository(
  { codeDir }: Pick<Ports, "codeDir">,
  companyId: CompanyId,
  { message }: Error,
): OperatorRefused {
  const reason = message.replaceAll(/\s+/g, " ")
  const folder = join(codeDir, repositoryFolderName(companyId))
  const explanation =
    `The repository of ${companyId} cannot be read, so no backup was written: ${reason}. ` +
    `Its folder is ${folder}: check that CODE_DIR is the right folder and is mounted. "git fsck" in it shows the damage. ` +
    "Restore its files from a copy. Or move the folder away, create an empty repository (repository create --replace-lost) and " +
    +"import the code from a clone (repository import)."
  return new OperatorRefused("repository_unreadable", explanation)
}

async function removeBundles(ports: Pick<Ports, "blobs" | "repositories">): Promise<void> {
  const { blobs } = ports
  for (const companyId of await blobs.findCompanies(BUNDLE)) {
    const blob = await blobs.find(companyId, BUNDLE)
    // A restored bundle stays until its repository has it.
    if (blob === null || (await isRestored(ports, companyId, blob))) {
      await blobs.delete(companyId, BUNDLE)
    }
  }
}

async function restoreBundles(
  ports: Pick<Ports, "blobs" | "repositories" | "runner" | "sealing">,
  progress: (message: string) => void,
): Promise<void> {
  const waiting = await ports.blobs.findCompanies(BUNDLE)
  for (const [i, companyId] of waiting.entries()) {
    progress(`${i} of ${waiting.length} repositories`)
    await restoreBundle(ports, companyId)
  }
}

/** Restores a company's repository from its blob; an existing repository stays. */
async function restoreBundle(
  ports: Pick<Ports, "blobs" | "repositories" | "runner" | "sealing">,
  companyId: CompanyId,
): Promise<void> {
  const { blobs, runner, repositories } = ports
  const isWanted = await runner.readLatest(codeStreamOf(companyId), hasRepository)
  const blob = isWanted ? await blobs.find(companyId, BUNDLE) : null
  if (blob === null || (await isRestored(ports, companyId, blob))) return
  await repositories.create(companyId)
  if (blob.length > 0) {
    // Every push of it was checked before the backup.
    const judge = async () => ({ ok: true }) as const
    const verdict = await repositories.importBundle(companyId, blob.read(), judge)
    if (!verdict.ok) throw new Error(`${companyId}: ${verdict.lines.join(" ")}`)
  }
  await reconcileRefs(ports, { companyId, cause: causedBy("restore") }, null)
  // A bundle does not name the default branch.
  await syncHead(ports, companyId)
  await blobs.delete(companyId, BUNDLE)
}

/** Whether a repository exists, with content if its blob has any. */
async function isRestored(
  { repositories }: Pick<Ports, "repositories">,
  companyId: CompanyId,
  { length }: Pick<Blob, "length">,
): Promise<boolean> {
  if (!(await repositories.has(companyId))) return false
  return length === 0 || (await repositories.listRefs(companyId)).length > 0
}
