/**
 * Repositories in backups. While one is written each is put into a blob, as a bundle, behind the events: so
 * a restored repository is never older than the facts about it. What a restore brought so is taken into
 * repositories where it is opened first, and by any later start where that was cut short.
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

/** The id of the blob of each company; one of no bytes is an empty repository. */
const BUNDLE = "repository-bundle"
const READ_MODEL_WAIT_MS = 60_000

/** How repositories come into backups, and back. */
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
      "the read model of repositories is behind or stopped: the backup would lack some",
    )
  }
  // What still waits since a restore is in no repository yet.
  await restoreBundles(ports, progress)
  const companies = await listCompaniesWithRepository(readAll)
  for (const [i, companyId] of companies.entries()) {
    signal.throwIfAborted()
    progress(`${i} of ${companies.length} repositories`)
    await addBundle(ports, companyId)
  }
}

/** Puts the repository of a company into its blob; of one that was erased meanwhile nothing. */
async function addBundle(
  ports: Pick<Ports, "blobs" | "codeDir" | "repositories" | "runner">,
  companyId: CompanyId,
): Promise<void> {
  const { blobs, repositories, runner } = ports
  const bundle = (send: (piece: Uint8Array) => Promise<void>) =>
    repositories.bundle(companyId, send)
  const blob = { companyId, subject: COMPANY_SUBJECT, blobId: BUNDLE }
  // Of a backup that did not come to its end.
  await blobs.delete(companyId, BUNDLE)
  try {
    await blobs.write(blob, streamFromSender(bundle), { maxBytes: Number.MAX_SAFE_INTEGER })
  } catch (error) {
    if (error instanceof CompanyErased) return
    if (!(await runner.readLatest(codeStreamOf(companyId), hasRepository))) return
    const isOfRepository = error instanceof GitFailed || error instanceof RepositoryNotFound
    throw isOfRepository ? unreadableRepository(ports, companyId, error) : error
  }
}

function unreadableRepository(
  { codeDir }: Pick<Ports, "codeDir">,
  companyId: CompanyId,
  { message }: Error,
): OperatorRefused {
  const why = message.replaceAll(/\s+/g, " ")
  const folder = join(codeDir, repositoryFolderName(companyId))
  const what =
    `The repository of ${companyId} cannot be read, so there is no backup: ${why}. ` +
    `It is ${folder}: is CODE_DIR the folder, and mounted? "git fsck" in it says what is damaged. ` +
    "Put its files back from a copy; or move it away, make an empty one (repository create --anew), and take " +
    "the code in from somebody's clone (repository import)."
  return new OperatorRefused("repository_unreadable", what)
}

async function removeBundles(ports: Pick<Ports, "blobs" | "repositories">): Promise<void> {
  const { blobs } = ports
  for (const companyId of await blobs.findCompanies(BUNDLE)) {
    const blob = await blobs.find(companyId, BUNDLE)
    // What a restore brought stays until it is in its place.
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

/** Makes the repository of a company that has none as its blob has it. One that is there stays. */
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
    // It was judged push by push, before it came into the backup.
    const judge = async () => ({ ok: true }) as const
    const verdict = await repositories.importBundle(companyId, blob.read(), judge)
    if (!verdict.ok) throw new Error(`${companyId}: ${verdict.lines.join(" ")}`)
  }
  await reconcileRefs(ports, { companyId, cause: causedBy("restore") }, null)
  // A bundle does not say which branch is the default.
  await syncHead(ports, companyId)
  await blobs.delete(companyId, BUNDLE)
}

/** Whether a repository is there, and holds something if its blob does. */
async function isRestored(
  { repositories }: Pick<Ports, "repositories">,
  companyId: CompanyId,
  { length }: Pick<Blob, "length">,
): Promise<boolean> {
  if (!(await repositories.has(companyId))) return false
  return length === 0 || (await repositories.listRefs(companyId)).length > 0
}
