/** What each slice's tests say of its routes: a change that one shows, and the way to an answer that no example leads to. */
import { existsSync, readdirSync } from "node:fs"
import type { ApiAnswer, Company, World } from "./world.ts"

/** A change and what a route shows of it. */
export interface Reading {
  /** Writes, by the API where a key can; resolves with what is shown from then on. */
  readonly write: (world: World, company: Company) => Promise<unknown>
  readonly shown: (body: ApiAnswer["body"]) => unknown
}

/** By the route's name. */
export type Readings = Readonly<Record<string, Reading>>

/** By the route's name for clients and the status, such as `buyCredits 202`. */
export type OtherAnswers = Readonly<
  Record<string, (world: World, company: Company) => Promise<ApiAnswer>>
>

interface SliceReadings {
  readonly READINGS: Readings
  readonly OTHER_ANSWERS?: OtherAnswers
}

const TESTS = new URL("../", import.meta.url)

/** What stands in the `readings.ts` of any folder of tests but this one. */
async function ofAllSlices(): Promise<readonly SliceReadings[]> {
  const files = readdirSync(TESTS)
    .filter((folder) => folder !== "support")
    .map((folder) => new URL(`${folder}/readings.ts`, TESTS))
    .filter((file) => existsSync(file))
  return Promise.all(files.map(async (file) => (await import(file.href)) as SliceReadings))
}

/** The readings of all slices. */
export async function allReadings(): Promise<Readings> {
  const found = await ofAllSlices()
  return Object.assign({}, ...found.map(({ READINGS }) => READINGS)) as Readings
}

/** The ways of all slices to answers that the routes' own examples do not lead to. */
export async function allOtherAnswers(): Promise<OtherAnswers> {
  const found = await ofAllSlices()
  return Object.assign({}, ...found.map(({ OTHER_ANSWERS }) => OTHER_ANSWERS)) as OtherAnswers
}

/** @throws Error where there is none of this name, with what to write */
export function readingOf(readings: Readings, name: string): Reading {
  const found = readings[name]
  if (found === undefined) {
    throw new Error(
      `${name} has no reading: put one of this name into READINGS of readings.ts in its slice's ` +
        "folder of tests, with a `write` that changes what it reads and what is `shown` of that.",
    )
  }
  return found
}
