/** Plans of builds and apps. */
import { randomUUID } from "node:crypto"
import { pack } from "tar-stream"
import type { AppStartPlan, BuildPlan, Recipe } from "../../adapters/sandbox/preview-host/port.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { PublishId } from "../../domain/publishing/ids.ts"

const unique = (): string => randomUUID().replaceAll("-", "").slice(0, 26)

/** A new publish id. */
export const newPublishId = (): PublishId => `pub_${unique()}`
const newCompanyId = (): CompanyId => `co_${unique()}`

/** A tar archive of files by path. */
export async function* tarStreamOf(
  files: Readonly<Record<string, string>>,
): AsyncGenerator<Uint8Array> {
  const archive = pack()
  for (const [name, content] of Object.entries(files)) archive.entry({ name }, content)
  archive.finalize()
  for await (const piece of archive) yield piece as Buffer
}

/** The default recipe: a static site without a build. */
const SITE: Recipe = {
  root: ".",
  install: null,
  build: null,
  env: {},
  serves: { kind: "static", folder: "dist", fallback: null },
}

/** A plan of a build of some files. */
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

/** A plan of an app that runs a Node program. */
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
