/** What each slice's tests say of its routes: a change that one shows, and the way to an answer that no example leads to. */
import { existsSync, readdirSync } from "node:fs"
import type { ApiAnswer, Company, World } from "./world.ts"

/** A change and what a route shows of it. */
export interface ReadAfterWriteCase {
  /** Writes, by the API where a key can; resolves with what is shown from then on. */
  readonly writeValue: (world: World, company: Company) => Promise<unknown>
  readonly readValue: (body: ApiAnswer["body"]) => unknown
}

/** By the route's name. */
export type ReadAfterWriteCases = Readonly<Record<string, ReadAfterWriteCase>>

/** By the route's name for clients and the status, such as `buyCredits 202`. */
export type AnswerScenarios = Readonly<
  Record<string, (world: World, company: Company) => Promise<ApiAnswer>>
>

interface SliceScenarios {
  readonly READ_AFTER_WRITE_CASES: ReadAfterWriteCases
  readonly ANSWER_SCENARIOS?: AnswerScenarios
}

const TESTS = new URL("../", import.meta.url)

/** What stands in the `route-scenarios.ts` of any folder of tests but this one. */
async function scenariosOfAllSlices(): Promise<readonly SliceScenarios[]> {
  const files = readdirSync(TESTS)
    .filter((folder) => folder !== "support")
    .map((folder) => new URL(`${folder}/route-scenarios.ts`, TESTS))
    .filter((file) => existsSync(file))
  return Promise.all(files.map(async (file) => (await import(file.href)) as SliceScenarios))
}

/** The readings of all slices. */
export async function allReadAfterWriteCases(): Promise<ReadAfterWriteCases> {
  const found = await scenariosOfAllSlices()
  return Object.assign(
    {},
    ...found.map(({ READ_AFTER_WRITE_CASES }) => READ_AFTER_WRITE_CASES),
  ) as ReadAfterWriteCases
}

/** The ways of all slices to answers that the routes' own examples do not lead to. */
export async function allAnswerScenarios(): Promise<AnswerScenarios> {
  const found = await scenariosOfAllSlices()
  return Object.assign(
    {},
    ...found.map(({ ANSWER_SCENARIOS }) => ANSWER_SCENARIOS),
  ) as AnswerScenarios
}

/** @throws Error where there is none of this name, with what to write */
export function readAfterWriteCaseOf(
  readings: ReadAfterWriteCases,
  name: string,
): ReadAfterWriteCase {
  const found = readings[name]
  if (found === undefined) {
    throw new Error(
      `${name} has no reading: put one of this name into READ_AFTER_WRITE_CASES of route-scenarios.ts in its slice's ` +
        "folder of tests, with a `write` that changes what it reads and what is `shown` of that.",
    )
  }
  return found
}
