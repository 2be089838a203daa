/** Checks of `doctor` for the folder of the repositories. */
import { constants } from "node:fs"
import { access, readdir } from "node:fs/promises"
import { dirname, join } from "node:path"
import { z } from "zod"
import { repositoryFolderName } from "../../adapters/git/port.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { parseCompanyId } from "../../domain/kernel/ids.ts"
import { listCompaniesWithRepository } from "../../projections/code/repositories.ts"
import { idSchema } from "../frame/kernel/schema.ts"
import type {
  DoctorContext,
  DoctorFinding,
  DoctorStore,
} from "../frame/operator/cli/doctor-finding.ts"
import { okFinding } from "../frame/operator/cli/doctor-finding.ts"
import { resolveCodeDir, codeSettings } from "./settings.ts"

/** The needed part of the output of `repository list`. */
const Listed = z.object({
  folder: z.string(),
  repositories: z.array(z.object({ companyId: idSchema(parseCompanyId) })),
})

/** Checks that the repository folder is usable and has every repository that the facts know. */
export async function examineCode({
  settings,
  dataDir,
  stored,
}: DoctorContext): Promise<readonly DoctorFinding[]> {
  const folder = resolveCodeDir(settings(codeSettings), dataDir)
  const found = await folderFinding(folder)
  const missing = await missingFindings(folder, stored)
  return missing.length > 0 && found.state === "ok" ? missing : [found, ...missing]
}

async function folderFinding(folder: string): Promise<DoctorFinding> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => error)
  if (Array.isArray(names)) {
    const fault = await writeFault(folder)
    if (fault !== null) return unusable(folder, fault)
    const count = names.filter((name) => /^[0-9a-f]+$/.test(name)).length
    return okFinding("code", `${count} repositories in ${folder}`)
  }
  if (names.code !== "ENOENT") return unusable(folder, names.message)
  // The folder is created with the first repository.
  const fault = await writeFault(await nearestExisting(folder))
  return fault === null
    ? okFinding("code", `no repositories yet in ${folder}`)
    : unusable(folder, fault)
}

/** Limits the findings: if the folder is not mounted, all repositories are missing. */
const MAX_NAMED = 10

/** A finding for each repository that the facts know and the folder lacks. */
async function missingFindings(
  folder: string,
  stored: DoctorStore,
): Promise<readonly DoctorFinding[]> {
  const missing = await findMissing(folder, stored)
  if (!("companies" in missing)) return [missing]
  const { companies, where } = missing
  const fix =
    "check that CODE_DIR is the right folder and is mounted; if the repository is lost, restore a backup or run repository create --replace-lost"
  const lacking = companies.slice(0, MAX_NAMED).map((companyId): DoctorFinding => {
    const says = `the repository of ${companyId} is missing from ${where}`
    return { check: "code", state: "wrong", says, fix }
  })
  const more = companies.length - lacking.length
  if (more === 0) return lacking
  const says = `${more} more repositories are missing: run repository list --missing`
  return [...lacking, { check: "code", state: "wrong", says, fix }]
}

type Missing = { readonly companies: readonly CompanyId[]; readonly where: string } | DoctorFinding

async function findMissing(folder: string, stored: DoctorStore): Promise<Missing> {
  if (stored === null) return { companies: [], where: folder }
  try {
    if ("readAll" in stored) {
      const known = await listCompaniesWithRepository(stored.readAll)
      const isPresent = await Promise.all(
        known.map((companyId) => isReadable(join(folder, repositoryFolderName(companyId), "HEAD"))),
      )
      return { companies: known.filter((_one, i) => isPresent[i] === false), where: folder }
    }
    const answer = Listed.parse(await stored.ask("repository list", { missing: true }))
    const companies = answer.repositories.map(({ companyId }) => companyId)
    return { companies, where: answer.folder }
  } catch (error) {
    const says = `not compared with the stored facts: ${error instanceof Error ? error.message : String(error)}`
    return {
      check: "code",
      state: "missing",
      says,
      fix: "check that the database runs, and read the server's log",
    }
  }
}

async function nearestExisting(folder: string): Promise<string> {
  const above = dirname(folder)
  if (above === folder) return above
  return (await isReadable(above)) ? above : nearestExisting(above)
}

const isReadable = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

const writeFault = (folder: string): Promise<string | null> =>
  access(folder, constants.R_OK | constants.W_OK | constants.X_OK).then(
    () => null,
    (error: Error) => error.message,
  )

function unusable(folder: string, why: string): DoctorFinding {
  const fix = "give the server's user access to the folder, or set CODE_DIR to another one"
  return { check: "code", state: "wrong", says: `${folder} cannot be used: ${why}`, fix }
}
