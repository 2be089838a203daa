/** Scenarios for the answers of the publishing routes. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { writeBundle, git, gitAt } from "../code/git.ts"
import type { AnswerScenarios, ReadAfterWriteCases } from "../support/route-scenarios.ts"
import type { Company, World } from "../support/world.ts"
import { PUBLISHES_PATH, siteCompanyFile, requestPublish } from "./publish-world.ts"

/** The fixed commit date, so that the commit is always the one in the route's example. */
const WHEN = "2026-11-24T09:30:00Z"

const commits = new Map<CompanyId, Promise<string>>()

/** Commits a site and imports it for the company; returns the commit. */
async function importedCommit(world: World, company: Company): Promise<string> {
  const { name } = await world.operate("company show", { company: company.companyId })
  const folder = mkdtempSync(join(tmpdir(), "ledger-publish-"))
  const copy = join(folder, "copy")
  git(folder, "init", "-q", "--initial-branch=shown", copy)
  mkdirSync(join(copy, "site"))
  writeFileSync(join(copy, "company.json"), siteCompanyFile(String(name)))
  writeFileSync(join(copy, "site", "index.html"), "<h1>Hello</h1>\n")
  git(copy, "add", "-A")
  gitAt(WHEN, copy, "commit", "-q", "-m", "Say hello")
  await world.operate("repository import", { company: company.companyId, file: writeBundle(copy) })
  const commit = git(copy, "rev-parse", "HEAD")
  rmSync(folder, { recursive: true })
  return commit
}

/** Publishes a commit of a company's code. */
export async function publishOne(world: World, company: Company) {
  const commit = commits.get(company.companyId) ?? importedCommit(world, company)
  commits.set(company.companyId, commit)
  const queued = await requestPublish(world, company, await commit)
  await world.operate("wait")
  return queued
}

/** Scenarios by operation and status. */
export const ANSWER_SCENARIOS: AnswerScenarios = {
  "publishPreview 202": publishOne,
  "listPublishes 200": async (world, company) => {
    await publishOne(world, company)
    return world.call(company.key, "GET", PUBLISHES_PATH)
  },
  "getPublish 200": async (world, company) => {
    const { body } = await publishOne(world, company)
    return world.call(company.key, "GET", `${PUBLISHES_PATH}/${body.id}`)
  },
}

/** Changes, and where each of them is visible. */
export const READ_AFTER_WRITE_CASES: ReadAfterWriteCases = {
  [`GET ${PUBLISHES_PATH}`]: {
    writeValue: async (world, company) => (await publishOne(world, company)).body.id,
    readValue: (body) => body.publishes[0]?.id,
  },
}
