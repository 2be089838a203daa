/** Scenarios of routes from each slice's tests: read-after-write cases, and requests for answers that the examples do not produce. */
import { existsSync, readdirSync } from "node:fs"
import type { ApiAnswer, Company, World } from "./world.ts"

export interface ReadAfterWriteCase {
  /** Makes a change, by the API if a key can; resolves with the value that the route must show. */
  readonly writeValue: (world: World, company: Company) => Promise<unknown>
  readonly readValue: (body: ApiAnswer["body"]) => unknown
}

/** Cases by route name. */
export type ReadAfterWriteCases = Readonly<Record<string, ReadAfterWriteCase>>

/** Scenarios by the route's operation id and status, such as `buyCredits 202`. */
export type AnswerScenarios = Readonly<
  Record<string, (world: World, company: Company) => Promise<ApiAnswer>>
>

interface SliceScenarios {
  readonly READ_AFTER_WRITE_CASES: ReadAfterWriteCases
  readonly ANSWER_SCENARIOS?: AnswerScenarios
}

const TESTS = new URL("../", import.meta.url)

/** The exports of every other test folder's `route-scenarios.ts`. */
async function scenariosOfAllSlices(): Promise<readonly SliceScenarios[]> {
  const files = readdirSync(TESTS)
    .filter((folder) => folder !== "support")
    .map((folder) => new URL(`${folder}/route-scenarios.ts`, TESTS))
    .filter((file) => existsSync(file))
  return Promise.all(files.map(async (file) => (await import(file.href)) as SliceScenarios))
}

/** The read-after-write cases of all slices. */
export async function allReadAfterWriteCases(): Promise<ReadAfterWriteCases> {
  const found = await scenariosOfAllSlices()
  return Object.assign(
    {},
    ...found.map(({ READ_AFTER_WRITE_CASES }) => READ_AFTER_WRITE_CASES),
  ) as ReadAfterWriteCases
}

/** The answer scenarios of all slices. */
export async function allAnswerScenarios(): Promise<AnswerScenarios> {
  const found = await scenariosOfAllSlices()
  return Object.assign(
    {},
    ...found.map(({ ANSWER_SCENARIOS }) => ANSWER_SCENARIOS),
  ) as AnswerScenarios
}

/** Finds a route's case. @throws Error if it has none; the message says what to write */
export function readAfterWriteCaseOf(cases: ReadAfterWriteCases, name: string): ReadAfterWriteCase {
  const found = cases[name]
  if (found === undefined) {
    throw new Error(
      `${name} has no read-after-write case: add one with this name to READ_AFTER_WRITE_CASES of route-scenarios.ts in ` +
        "the test folder of its slice, with a `writeValue` that makes a change and a `readValue` that reads it back.",
    )
  }
  return found
}
