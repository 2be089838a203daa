/** What each slice's tests say of its routes that read: a change, and what a route shows of it. */
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

const TESTS = new URL("../", import.meta.url)

/** What stands in the `readings.ts` of any folder of tests. */
export async function allReadings(): Promise<Readings> {
  const files = readdirSync(TESTS)
    .map((folder) => new URL(`${folder}/readings.ts`, TESTS))
    .filter((file) => existsSync(file))
  const found = await Promise.all(
    files.map(async (file) => (await import(file.href)) as { readonly READINGS: Readings }),
  )
  return Object.assign({}, ...found.map(({ READINGS }) => READINGS)) as Readings
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
