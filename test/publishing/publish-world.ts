/** A world whose companies have code to publish; builds are simulated. */
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { expect } from "vitest"
import { publishStreamOf } from "../../domain/publishing/aggregates.ts"
import type { PublishId } from "../../domain/publishing/ids.ts"
import type { PublishView } from "../../domain/publishing/publishing.ts"
import { publishOf } from "../../domain/publishing/publishing.ts"
import type { CodeWorld } from "../code/code-world.ts"
import { codeWorld } from "../code/code-world.ts"
import { writeBundle, git } from "../code/git.ts"
import type { Company, World } from "../support/world.ts"
import { makeCallsFree, makeCompany, ownWorld } from "../support/world.ts"

/** Price of a publish in micro-dollars. */
export const PUBLISH_MICROS = 250_000

export const PUBLISHES_PATH = "/api/v1/publish"

export type FilesByPath = Readonly<Record<string, string>>

/** A company with code, and a working copy of it. */
export interface PublishingCompany extends Company {
  readonly copy: string
  /** The registered name. */
  readonly name: string
}

/** Opens a world in which API calls are free. Call it at the top level of the file. */
export async function ownPublishWorld(): Promise<CodeWorld> {
  const settings = { RATE_LIMITS: "off" }
  const world = await ownWorld("settings", { settings, rateLimits: "off" })
  await makeCallsFree(world)
  return codeWorld(world)
}

/** A company file, by default of a static site in the folder `site`. */
export function siteCompanyFile(company: string, more: object = { static: "site" }): string {
  return JSON.stringify({ company, ...more })
}

/** Creates a company whose repository has one commit with a static site. */
export async function makePublishingCompany(
  { world, folder }: Pick<CodeWorld, "world" | "folder">,
  funds = "50",
): Promise<PublishingCompany & { readonly first: string }> {
  const company = await makeCompany(world, { funds })
  const { name } = await world.operate("company show", { company: company.companyId })
  const copy = join(folder, company.companyId)
  mkdirSync(copy)
  git(copy, "init", "-q", "--initial-branch=main")
  const publisher = { ...company, copy, name: String(name) }
  const first = await commitAndImport(world, publisher, {
    "company.json": siteCompanyFile(publisher.name),
    "site/index.html": "<h1>Hello</h1>\n",
  })
  return { ...publisher, first }
}

/** Commits files without importing them; returns the commit. */
export function commitOnly({ copy }: Pick<PublishingCompany, "copy">, files: FilesByPath): string {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(copy, path)), { recursive: true })
    writeFileSync(join(copy, path), content)
  }
  git(copy, "add", "-A")
  git(copy, "commit", "-q", "--allow-empty", "-m", "more")
  return git(copy, "rev-parse", "HEAD")
}

/** Imports all commits into the repository. */
export const importCommits = (
  world: World,
  { companyId, copy }: Pick<PublishingCompany, "companyId" | "copy">,
) => world.operate("repository import", { company: companyId, file: writeBundle(copy) })

/** Commits files and imports them; returns the commit. */
export async function commitAndImport(
  world: World,
  publisher: Pick<PublishingCompany, "companyId" | "copy">,
  files: FilesByPath,
): Promise<string> {
  const commit = commitOnly(publisher, files)
  await importCommits(world, publisher)
  return commit
}

/** Requests the publish of a commit. */
export function requestPublish(
  world: World,
  { key }: Pick<Company, "key">,
  commit: string,
  headers: Record<string, string> = {},
) {
  return world.call(key, "POST", `${PUBLISHES_PATH}/preview`, { body: { commit }, headers })
}

/** Publishes a commit and waits until it is live or failed; returns its id. */
export async function publishAndWait(
  world: World,
  company: Pick<Company, "key">,
  commit: string,
): Promise<PublishId> {
  const queued = await requestPublish(world, company, commit)
  expect(queued).toMatchObject({ status: 202, body: { status: "queued", kind: "preview", commit } })
  await world.operate("wait")
  return queued.body.id
}

/** Reads a publish through the API. */
export async function getPublish(
  world: World,
  { key }: Pick<Company, "key">,
  publishId: PublishId,
) {
  return (await world.call(key, "GET", `${PUBLISHES_PATH}/${publishId}`)).body
}

/** Reads a publish from its stream. */
export function publishViewOf(
  { ports }: World,
  { companyId }: Pick<Company, "companyId">,
  publishId: PublishId,
): Promise<PublishView | null> {
  return ports.runner.readLatest(publishStreamOf(companyId), publishOf(publishId))
}

/** Sets the next outcome of the publishing simulator. */
export const setPublishOutcome = (world: World, outcome: string, times?: number) =>
  world.operate("simulator set", { name: "publish", outcome, ...(times ? { times } : {}) })
