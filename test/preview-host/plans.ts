/** What tests have built and started. */
import { randomUUID } from "node:crypto"
import { pack } from "tar-stream"
import type { AppStartPlan, BuildPlan, Recipe } from "../../adapters/sandbox/preview-host/port.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { PublishId } from "../../domain/publishing/ids.ts"

const unique = (): string => randomUUID().replaceAll("-", "").slice(0, 26)

/** A new name of a publish, and of a company. */
export const newPublishId = (): PublishId => `pub_${unique()}`
/** A company that nobody else is. */
const newCompanyId = (): CompanyId => `co_${unique()}`

/** Files by their paths, as a tar archive. */
export async function* tarStreamOf(
  files: Readonly<Record<string, string>>,
): AsyncGenerator<Uint8Array> {
  const archive = pack()
  for (const [name, content] of Object.entries(files)) archive.entry({ name }, content)
  archive.finalize()
  for await (const piece of archive) yield piece as Buffer
}

/** A static site that needs no building, where a test says no more. */
const SITE: Recipe = {
  root: ".",
  install: null,
  build: null,
  env: {},
  serves: { kind: "static", folder: "dist", fallback: null },
}

/** A build of some files that nobody waits for any more when a test says so. */
export function newBuildPlan(
  files: Readonly<Record<string, string>>,
  recipe: Partial<Recipe> = {},
  more: Partial<BuildPlan> = {},
): BuildPlan {
  return {
    companyId: "co_builds",
    publishId: newPublishId(),
    recipe: { ...SITE, ...recipe },
    files: tarStreamOf(files),
    signal: new AbortController().signal,
    ...more,
  }
}

/** A program of Node as an app. */
export function newAppPlan(
  code: string,
  more: Partial<AppStartPlan> & {
    readonly app?: Partial<Recipe["serves"]>
    readonly env?: Recipe["env"]
  } = {},
): AppStartPlan {
  const { app = {}, env = {}, ...rest } = more
  const serves = { kind: "app", start: "exec node app.mjs", release: null, health: "/", ...app }
  return {
    companyId: newCompanyId(),
    publishId: newPublishId(),
    isNew: true,
    url: "http://one.preview.localhost",
    recipe: { ...SITE, env, serves: serves as Recipe["serves"] },
    files: () => tarStreamOf({ "app.mjs": code }),
    ...rest,
  }
}
