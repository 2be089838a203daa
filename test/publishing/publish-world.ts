/** A world whose companies have code to publish; builds are the built-in ones. */
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { expect } from "vitest"
import { publishesOf } from "../../domain/publishing/aggregates.ts"
import type { PublishId } from "../../domain/publishing/ids.ts"
import type { PublishView } from "../../domain/publishing/publishing.ts"
import { publishOf } from "../../domain/publishing/publishing.ts"
import type { CodeWorld } from "../code/code-world.ts"
import { codeWorld } from "../code/code-world.ts"
import { bundleOf, git } from "../code/git.ts"
import type { Company, World } from "../support/world.ts"
import { makeCallsFree, makeCompany, ownWorld } from "../support/world.ts"

/** What a publish costs, micro-dollars. */
export const DEPLOY = 250_000

/** The path of all publishes. */
export const PUBLISHES = "/api/v1/publish"

/** Files by their paths. */
export type Files = Readonly<Record<string, string>>

/** A company with code, and a working copy of it. */
export interface Publisher extends Company {
  readonly copy: string
  /** As it was registered. */
  readonly name: string
}

/** One for the calling file, at its top level; calls of the API cost nothing. */
export async function publishWorld(): Promise<CodeWorld> {
  const settings = { RATE_LIMITS: "off" }
  const world = await ownWorld("settings", { settings, rateLimits: "off" })
  await makeCallsFree(world)
  return codeWorld(world)
}

/** The company file of a static site in the folder `site`; with what else it says. */
export function companyFile(company: string, more: object = { static: "site" }): string {
  return JSON.stringify({ company, ...more })
}

/** A company whose repository has one commit, a static site. */
export async function makePublisher(
  { world, folder }: Pick<CodeWorld, "world" | "folder">,
  funds = "50",
): Promise<Publisher & { readonly first: string }> {
  const company = await makeCompany(world, { funds })
  const { name } = await world.operate("company show", { company: company.companyId })
  const copy = join(folder, company.companyId)
  mkdirSync(copy)
  git(copy, "init", "-q", "--initial-branch=main")
  const publisher = { ...company, copy, name: String(name) }
  const first = await push(world, publisher, {
    "company.json": companyFile(publisher.name),
    "site/index.html": "<h1>Hello</h1>\n",
  })
  return { ...publisher, first }
}

/** Commits files; answers the commit, which the repository does not have yet. */
export function committed({ copy }: Pick<Publisher, "copy">, files: Files): string {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(copy, path)), { recursive: true })
    writeFileSync(join(copy, path), content)
  }
  git(copy, "add", "-A")
  git(copy, "commit", "-q", "--allow-empty", "-m", "more")
  return git(copy, "rev-parse", "HEAD")
}

/** Has the repository take all that was committed. */
export const imported = (
  world: World,
  { companyId, copy }: Pick<Publisher, "companyId" | "copy">,
) => world.operate("repository import", { company: companyId, file: bundleOf(copy) })

/** Commits files and has the repository take them; answers the commit. */
export async function push(
  world: World,
  publisher: Pick<Publisher, "companyId" | "copy">,
  files: Files,
): Promise<string> {
  const commit = committed(publisher, files)
  await imported(world, publisher)
  return commit
}

/** Asks for a commit to be published. */
export function publish(
  world: World,
  { key }: Pick<Company, "key">,
  commit: string,
  headers: Record<string, string> = {},
) {
  return world.call(key, "POST", `${PUBLISHES}/preview`, { body: { commit }, headers })
}

/** Publishes a commit, and waits until it came to something; answers its id. */
export async function published(
  world: World,
  company: Pick<Company, "key">,
  commit: string,
): Promise<PublishId> {
  const queued = await publish(world, company, commit)
  expect(queued).toMatchObject({ status: 202, body: { status: "queued", kind: "preview", commit } })
  await world.operate("wait")
  return queued.body.id
}

/** A publish by the API. */
export async function see(world: World, { key }: Pick<Company, "key">, publishId: PublishId) {
  return (await world.call(key, "GET", `${PUBLISHES}/${publishId}`)).body
}

/** A publish by its stream. */
export function viewOf(
  { ports }: World,
  { companyId }: Pick<Company, "companyId">,
  publishId: PublishId,
): Promise<PublishView | null> {
  return ports.runner.readLatest(publishesOf(companyId), publishOf(publishId))
}

/** What the stand-in of publishing does next. */
export const told = (world: World, outcome: string, times?: number) =>
  world.operate("simulator set", { name: "publish", outcome, ...(times ? { times } : {}) })
