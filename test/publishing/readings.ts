/** What the routes of publishing show. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { bundleOf, git, gitAt } from "../code/git.ts"
import type { OtherAnswers, Readings } from "../support/readings.ts"
import type { Company, World } from "../support/world.ts"
import { PUBLISHES, companyFile, publish } from "./publish-world.ts"

/** When it was committed: with the same files it is the same commit, which the route's example names. */
const WHEN = "2026-11-24T09:30:00Z"

/** By company: each takes its commit in once. */
const commits = new Map<CompanyId, Promise<string>>()

/** Makes a commit of a site and has the company take it in; answers its id. */
async function takenIn(world: World, company: Company): Promise<string> {
  const { name } = await world.operate("company show", { company: company.companyId })
  const folder = mkdtempSync(join(tmpdir(), "ledger-publish-"))
  const copy = join(folder, "copy")
  git(folder, "init", "-q", "--initial-branch=shown", copy)
  mkdirSync(join(copy, "site"))
  writeFileSync(join(copy, "company.json"), companyFile(String(name)))
  writeFileSync(join(copy, "site", "index.html"), "<h1>Hello</h1>\n")
  git(copy, "add", "-A")
  gitAt(WHEN, copy, "commit", "-q", "-m", "Say hello")
  await world.operate("repository import", { company: company.companyId, file: bundleOf(copy) })
  const commit = git(copy, "rev-parse", "HEAD")
  rmSync(folder, { recursive: true })
  return commit
}

/** Publishes a commit of a company's code. */
export async function publishOne(world: World, company: Company) {
  const commit = commits.get(company.companyId) ?? takenIn(world, company)
  commits.set(company.companyId, commit)
  const queued = await publish(world, company, await commit)
  await world.operate("wait")
  return queued
}

/** By name and status. */
export const OTHER_ANSWERS: OtherAnswers = {
  "publishPreview 202": publishOne,
  "listPublishes 200": async (world, company) => {
    await publishOne(world, company)
    return world.call(company.key, "GET", PUBLISHES)
  },
  "getPublish 200": async (world, company) => {
    const { body } = await publishOne(world, company)
    return world.call(company.key, "GET", `${PUBLISHES}/${body.id}`)
  },
}

/** What is shown of each change. */
export const READINGS: Readings = {
  [`GET ${PUBLISHES}`]: {
    write: async (world, company) => (await publishOne(world, company)).body.id,
    shown: (body) => body.publishes[0]?.id,
  },
}
