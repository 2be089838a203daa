/** The example of an environment, and the settings that there are. */
import { readFileSync } from "node:fs"
import { expect, it } from "vitest"
import { listSettings, readConfig } from "../../src/compose/config.ts"

const EXAMPLE = readFileSync(new URL("../../.env.example", import.meta.url), "utf8")

/** The settings of the example: those in force, and those behind a `#` too. */
function settingsOf(form: RegExp): Record<string, string> {
  return Object.fromEntries(
    [...EXAMPLE.matchAll(form)].map(([, name = "", value = ""]) => [name, value]),
  )
}

it("names every setting that there is, and no other", () => {
  const named = Object.keys(settingsOf(/^(?:# )?([A-Z_]+)=(.*)$/gm))
  expect(named.toSorted()).toEqual(
    listSettings({})
      .map(({ name }) => name)
      .toSorted(),
  )
})

it("sets what is the default anyway", () => {
  const { settings: _read, ...example } = readConfig(settingsOf(/^([A-Z_]+)=(.*)$/gm))
  expect(readConfig({})).toMatchObject(example)
})
