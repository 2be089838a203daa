/**
 * Repositories in backups. While one is written each is put into a blob, as a bundle, behind the events: so
 * a restored repository is never older than the facts about it. What a restore brought so is taken into
 * repositories where it is opened first, and by any later start where that was cut short.
 */
import { join } from "node:path"
import type { Blob } from "../../adapters/postgres/blobs/port.ts"
import { GitFailed, NoRepository, folderNameOf } from "../../adapters/git/port.ts"
import { CompanyErased, COMPANY_SUBJECT } from "../../adapters/sealing/port.ts"
import { codeOf } from "../../domain/code/aggregates.ts"
import { hasRepository } from "../../domain/code/code-views.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { companiesWithCode } from "../../projections/code/repositories.ts"
import { causedBy } from "../frame/kernel/envelope.ts"
import { OperatorRefused } from "../frame/operator/operation.ts"
import type { Ports } from "../frame/ports.ts"
import type { InBackups } from "../frame/slice.ts"
import { compareRefs, followDefaultBranch } from "./compare-refs.ts"
import { pulled } from "./company-code.ts"

/** The id of the blob of each company; one of no bytes is an empty repository. */
const BUNDLE = "repository-bundle"
const READ_MODEL_WAIT_MS = 60_000

/** How repositories come into backups, and back. */
export const repositoriesInBackups: InBackups = { putIn, takeOut, putBack }

async function putIn(
  ports: Ports,
  progress: (message: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const { projector, store, readAll } = ports
  if (!(await projector.waitFor(await store.head(), READ_MODEL_WAIT_MS, ["repositories"]))) {
    throw new Error(
      "the read model of repositories is behind or stopped: the backup would lack some",
    )
  }
  // What still waits since a restore is in no repository yet.
  await putBack(ports, progress)
  const companies = await companiesWithCode(readAll)
  for (const [i, companyId] of companies.entries()) {
    signal.throwIfAborted()
    progress(`${i} of ${companies.length} repositories`)
    await putOne(ports, companyId)
  }
}

/** Puts the repository of a company into its blob; of one that was erased meanwhile nothing. */
async function putOne(
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
    await blobs.write(blob, pulled(bundle), { mostBytes: Number.MAX_SAFE_INTEGER })
  } catch (error) {
    if (error instanceof CompanyErased) return
    if (!(await runner.readLatest(codeOf(companyId), hasRepository))) return
    const isOfRepository = error instanceof GitFailed || error instanceof NoRepository
    throw isOfRepository ? unreadable(ports, companyId, error) : error
  }
}

function unreadable(
  { codeDir }: Pick<Ports, "codeDir">,
  companyId: CompanyId,
  { message }: Error,
): OperatorRefused {
  const why = message.replaceAll(/\s+/g, " ")
  const folder = join(codeDir, folderNameOf(companyId))
  const what =
    `The repository of ${companyId} cannot be read, so there is no backup: ${why}. ` +
    `It is ${folder}: is CODE_DIR the folder, and mounted? "git fsck" in it says what is damaged. ` +
    "Put its files back from a copy; or move it away, make an empty one (repository create --anew), and take " +
    "the code in from somebody's clone (repository import)."
  return new OperatorRefused("repository_unreadable", what)
}

async function takeOut(ports: Pick<Ports, "blobs" | "repositories">): Promise<void> {
  const { blobs } = ports
  for (const companyId of await blobs.companiesWith(BUNDLE)) {
    const blob = await blobs.find(companyId, BUNDLE)
    // What a restore brought stays until it is in its place.
    if (blob === null || (await isThere(ports, companyId, blob))) {
      await blobs.delete(companyId, BUNDLE)
    }
  }
}

async function putBack(
  ports: Pick<Ports, "blobs" | "repositories" | "runner" | "sealing">,
  progress: (message: string) => void,
): Promise<void> {
  const waiting = await ports.blobs.companiesWith(BUNDLE)
  for (const [i, companyId] of waiting.entries()) {
    progress(`${i} of ${waiting.length} repositories`)
    await putOneBack(ports, companyId)
  }
}

/** Makes the repository of a company that has none as its blob has it. One that is there stays. */
async function putOneBack(
  ports: Pick<Ports, "blobs" | "repositories" | "runner" | "sealing">,
  companyId: CompanyId,
): Promise<void> {
  const { blobs, runner, repositories } = ports
  const isWanted = await runner.readLatest(codeOf(companyId), hasRepository)
  const blob = isWanted ? await blobs.find(companyId, BUNDLE) : null
  if (blob === null || (await isThere(ports, companyId, blob))) return
  await repositories.create(companyId)
  if (blob.length > 0) {
    // It was judged push by push, before it came into the backup.
    const judge = async () => ({ ok: true }) as const
    const verdict = await repositories.importBundle(companyId, blob.read(), judge)
    if (!verdict.ok) throw new Error(`${companyId}: ${verdict.lines.join(" ")}`)
  }
  await compareRefs(ports, { companyId, cause: causedBy("restore") }, null)
  // A bundle does not say which branch is the default.
  await followDefaultBranch(ports, companyId)
  await blobs.delete(companyId, BUNDLE)
}

/** Whether a repository is there, and holds something if its blob does. */
async function isThere(
  { repositories }: Pick<Ports, "repositories">,
  companyId: CompanyId,
  { length }: Pick<Blob, "length">,
): Promise<boolean> {
  if (!(await repositories.has(companyId))) return false
  return length === 0 || (await repositories.tips(companyId)).length > 0
}
