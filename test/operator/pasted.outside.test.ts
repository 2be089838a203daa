/** Lines that are printed to be pasted: they call the program where no command of its name is. */
import { spawnSync } from "node:child_process"
import { resolve } from "node:path"
import { expect, it } from "vitest"
import { pastedProgram } from "../../src/compose/pasted.ts"

const ROOT = resolve(import.meta.dirname, "../..")

it("are short in a clone that has the default folder", () => {
  expect(pastedProgram(`${ROOT}/data`, ROOT)).toBe("bin/ledger.mjs")
})

it("name the program's file and the data folder in full where these are elsewhere", () => {
  expect(pastedProgram("/srv/data", "/srv")).toBe(`${ROOT}/bin/ledger.mjs`)
  expect(pastedProgram("/srv/other", "/srv")).toBe(
    `LEDGER_DATA_DIR=/srv/other ${ROOT}/bin/ledger.mjs`,
  )
})

it("stand for themselves in a shell, whatever the folder is called", () => {
  const line = pastedProgram("/srv/o'neill $HOME", "/srv").replace(/ \S+$/, "")
  const script = `${line} ; printf %s "$LEDGER_DATA_DIR"`
  expect(spawnSync("sh", ["-c", script], { encoding: "utf8" }).stdout).toBe("/srv/o'neill $HOME")
})
