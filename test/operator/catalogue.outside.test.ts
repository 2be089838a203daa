/** The catalogue of the command line, and what is loaded beside it. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { readFile, stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import { expect, it } from "vitest"
import { listSettings } from "../../src/compose/config.ts"
import { catalogueText } from "../../src/frame/operator/catalogue.ts"
import { PROGRAM } from "../../src/slices.ts"
import { fakeOperation, testFolder } from "./fake-host.ts"
import { serve } from "./serve-admin.ts"

const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url))
const CATALOGUE = new URL("../../src/catalogue.json", import.meta.url)

it("is what the commands declare: node bin/catalogue.mjs writes it anew", async () => {
  expect(await readFile(CATALOGUE, "utf8")).toBe(catalogueText(PROGRAM))
})

/** Tells on standard error of each file that is loaded. */
const HOOK = `
  import { registerHooks } from "node:module"
  registerHooks({
    load: (url, context, next) => {
      process.stderr.write("loaded " + url + "\\n")
      return next(url, context)
    },
  })
`

/** Runs the program on a data folder of its own; tells its answer and which files it loaded. */
async function loadedBy(dataDir: string, ...words: readonly string[]) {
  const hook = join(await testFolder(), "hook.mjs")
  await writeFile(hook, HOOK)
  // The test runner sets a BASE_URL of its own, which is none of ours.
  const env = { ...process.env, LEDGER_DATA_DIR: dataDir, BASE_URL: "" }
  const child = spawn(process.execPath, ["--import", hook, MAIN, ...words], { env })
  const ended = once(child, "close")
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
  const files = [...stderr.matchAll(/^loaded .*?\/((?:src|domain|projections|adapters)\/.*)$/gm)]
  const packages = [...stderr.matchAll(/^loaded .*\/node_modules\/((?:@[^/]+\/)?[^/]+)/gm)]
  const [code] = await ended
  return {
    code,
    stdout,
    files: files.map(([, file = ""]) => file),
    packages: [...new Set(packages.map(([, name = ""]) => name))],
  }
}

/** What only a command that is done in its own process needs. */
const ELSEWHERE =
  /^(src\/compose\/|src\/slices\.ts|src\/\w+\/operate\/|projections\/)|postgres\.ts$/

it("is all that a command beside a running server loads of what is declared", async () => {
  const { socketPath } = await serve([fakeOperation("company list", async () => ({ done: true }))])
  const folder = await testFolder()
  const server = { pid: process.pid, url: "http://127.0.0.1:1", socketPath, folderId: "folder-1" }
  await writeFile(join(folder, "server.json"), JSON.stringify(server))
  const { code, stdout, files, packages } = await loadedBy(folder, "company", "list", "--json")
  expect({ code, stdout }).toEqual({ code: 0, stdout: '{"done":true}\n' })
  expect(files).toContain("src/main.ts")
  expect(files.filter((file) => ELSEWHERE.test(file))).toEqual([])
  // Whatever else is loaded here is waited for by everybody who only asks for help.
  expect(packages).toEqual(["commander"])
})

/** What a command that is done in its own process loads of packages, if it needs them. */
const OWN_PACKAGES = new Set(["commander", "zod", "cli-table3", "fastest-levenshtein"])

it.each([
  ["operation list", "access/operate/operation-names.ts"],
  ["audit replay", "audit/operate/history-commands.ts"],
])("is what finds %s, for which its own module alone is loaded", async (line, from) => {
  const replaying = fakeOperation("audit replay", async () => ({ ok: true }))
  const { socketPath } = await serve([replaying])
  const folder = await testFolder()
  const server = { pid: process.pid, url: "http://127.0.0.1:1", socketPath, folderId: "folder-1" }
  await writeFile(join(folder, "server.json"), JSON.stringify(server))
  const { code, files, packages } = await loadedBy(folder, ...line.split(" "), "--json")
  expect(code).toBe(0)
  const own = files.filter((file) => ELSEWHERE.test(file))
  expect(own.filter((file) => file.startsWith(`src/${from.split("/operate/")[0]}/`))).toEqual(own)
  expect(own).toContain(`src/${from}`)
  expect(files).not.toContain("src/audit/replay-history.ts")
  const deep = [
    "string-width",
    "strip-ansi",
    "ansi-regex",
    "is-fullwidth-code-point",
    "emoji-regex",
  ]
  expect(packages.filter((name) => !OWN_PACKAGES.has(name) && !deep.includes(name))).toEqual([])
})

it("loads to show the settings what reads them alone, and shows all of them", async () => {
  const { code, stdout, files } = await loadedBy(await testFolder(), "config", "--json")
  expect(code).toBe(0)
  const shown = JSON.parse(stdout).settings.map(({ name }: { name: string }) => name)
  expect(shown).toEqual(listSettings({}).map(({ name }) => name))
  expect(files).toContain("src/compose/settings-reading.ts")
  expect(
    files.filter((file) => /^src\/(slices\.ts|\w+\/(operate|slice)|frame\/http)/.test(file)),
  ).toEqual([])
})

it("loads to check a file nothing of the stores and the slices", async () => {
  const { code, files } = await loadedBy(await testFolder(), "audit", "check", "no-such-file")
  expect(code).toBe(1)
  expect(files).toContain("src/audit/check-file.ts")
  expect(
    files.filter((file) => /^(src\/compose\/|src\/slices\.ts|projections\/)/.test(file)),
  ).toEqual([])
})

it.each(["--version", "--help", "limit set --help"])("is all that %s loads of it", async (line) => {
  const { code, files, packages } = await loadedBy(await testFolder(), ...line.split(" "))
  expect(code).toBe(0)
  expect(files).toContain("src/main.ts")
  expect(files.filter((file) => ELSEWHERE.test(file))).toEqual([])
  // Whatever else is loaded here is waited for by everybody who only asks for help.
  expect(packages).toEqual(["commander"])
})

it("is a program that can be called by its file", async () => {
  for (const name of ["ledger", "company-ledger"]) {
    const file = new URL(`../../bin/${name}.mjs`, import.meta.url)
    expect(await readFile(file, "utf8")).toMatch(/^#!\/usr\/bin\/env node\n/)
    expect((await stat(file)).mode & 0o111).toBe(0o111)
  }
})
