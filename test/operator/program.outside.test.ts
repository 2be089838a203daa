/** The program as a process: its bundle, the modules a command loads, and shell completion. */
import { readdir, rm, writeFile, readFile, stat } from "node:fs/promises"
import { dirname, join, resolve } from "node:path"
import { describe, expect, it, onTestFinished } from "vitest"
import { BUNDLE_FILE, SOURCE_MAIN, isBundleFresh, programFile } from "../../bin/program.mjs"
import type { ServerDataFolder } from "../support/server-process.ts"
import { makeDataFolder } from "../support/server-process.ts"
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import { listSettings } from "../../src/bootstrap/settings/config.ts"
import { formatCatalogue } from "../../src/frame/operator/catalogue.ts"
import { PROGRAM } from "../../src/slices.ts"
import { fakeOperation, testFolder, CATALOGUE } from "./fake-host.ts"
import { serveOperations } from "./fake-server.ts"
import { programCommandLine } from "../../src/bootstrap/settings/simulated.ts"
import { type CompletionShell, completionScript } from "../../src/frame/operator/cli/completion.ts"

async function newFolder(...args: Parameters<typeof makeDataFolder>): Promise<ServerDataFolder> {
  const folder = await makeDataFolder(...args)
  onTestFinished(() => folder.removeFiles())
  return folder
}

describe("the bundle", () => {
  it("is what a checkout runs after it is built", () => {
    expect(isBundleFresh()).toBe(true)
    expect(programFile()).toBe(BUNDLE_FILE)
  })

  it("answers like the sources", async () => {
    const [bundled, plain] = [await newFolder(), await newFolder({}, SOURCE_MAIN)]
    for (const line of ["--version", "limit set --help", "company lst", "config"]) {
      const words = line.split(" ")
      const answer = await plain.tryCommand(...words)
      const inBundledFolder = (output: string) => output.replaceAll(plain.dataDir, bundled.dataDir)
      expect(await bundled.tryCommand(...words), line).toEqual({
        code: answer.code,
        stdout: inBundledFolder(answer.stdout),
        stderr: inBundledFolder(answer.stderr),
      })
    }
  })

  it("caches its compiled code in Node's compile cache", async () => {
    const cache = join(await testFolder(), "compiled")
    const folder = await newFolder({ NODE_COMPILE_CACHE: cache })
    const files = async () =>
      (await readdir(cache, { recursive: true })).filter((path) => path.includes("program-"))
    await folder.runCommand("config")
    const first = await files()
    expect(first).toEqual([expect.stringMatching(/\/program-[0-9a-f]+$/)])
    await folder.runCommand("config")
    expect(await files()).toEqual(first)
  })

  it("removes the compiled code of a former bundle", async () => {
    const cache = join(await testFolder(), "compiled")
    const folder = await newFolder({ NODE_COMPILE_CACHE: cache })
    await folder.runCommand("config")
    const files = await readdir(cache, { recursive: true })
    const path = files.find((name) => name.includes("program-")) ?? ""
    const before = join(dirname(path), "program-0123")
    await writeFile(join(cache, before), "")
    await rm(join(cache, path))
    await folder.runCommand("config")
    const now = await readdir(cache, { recursive: true })
    expect([now.includes(path), now.includes(before)]).toEqual([true, false])
  })

  it("is not used by a server that starts from the sources", async () => {
    const folder = await newFolder({}, SOURCE_MAIN)
    const server = await folder.start()
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200)
    expect(await folder.runCommand("company", "list")).toEqual({ companies: [] })
    expect(await server.endBySignal("SIGTERM")).toBe(0)
  })
})

const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url))

/** Writes each loaded file to standard error. */
const HOOK = `
  import { registerHooks } from "node:module"
  registerHooks({
    load: (url, context, next) => {
      process.stderr.write("loaded " + url + "\\n")
      return next(url, context)
    },
  })
`

/** Runs the program on a data folder; returns its output and the files and packages it loaded. */
async function loadedBy(dataDir: string, ...words: readonly string[]) {
  const hook = join(await testFolder(), "hook.mjs")
  await writeFile(hook, HOOK)
  // The test runner sets BASE_URL, which is also the name of one of our settings.
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

/** Modules that only a command that runs in its own process needs. */
const ELSEWHERE =
  /^(src\/bootstrap\/|src\/slices\.ts|src\/\w+\/operate\/|projections\/)|postgres\.ts$/

/** Packages that a command that runs in its own process may load. */
const OWN_PACKAGES = new Set(["commander", "zod", "cli-table3", "fastest-levenshtein"])

describe("the catalogue", () => {
  it("matches the declared commands: node bin/catalogue.mjs writes it", async () => {
    const declared = new URL("../../src/catalogue.json", import.meta.url)
    expect(await readFile(declared, "utf8")).toBe(formatCatalogue(PROGRAM))
  })

  it("is the only declaration that a command sent to a running server loads", async () => {
    const { socketPath } = await serveOperations([
      fakeOperation("company list", async () => ({ done: true })),
    ])
    const folder = await testFolder()
    const server = { pid: process.pid, url: "http://127.0.0.1:1", socketPath, folderId: "folder-1" }
    await writeFile(join(folder, "server.json"), JSON.stringify(server))
    const { code, stdout, files, packages } = await loadedBy(folder, "company", "list", "--json")
    expect({ code, stdout }).toEqual({ code: 0, stdout: '{"done":true}\n' })
    expect(files).toContain("src/main.ts")
    expect(files.filter((file) => ELSEWHERE.test(file))).toEqual([])
    // Each further package would delay every command.
    expect(packages).toEqual(["commander"])
  })

  it.each([
    ["operation list", "access/operate/operation-names.ts"],
    ["audit replay", "audit/operate/history-commands.ts"],
  ])("finds the module of %s, the only one that is loaded", async (line, from) => {
    const replaying = fakeOperation("audit replay", async () => ({ ok: true }))
    const { socketPath } = await serveOperations([replaying])
    const folder = await testFolder()
    const server = { pid: process.pid, url: "http://127.0.0.1:1", socketPath, folderId: "folder-1" }
    await writeFile(join(folder, "server.json"), JSON.stringify(server))
    const { code, files, packages } = await loadedBy(folder, ...line.split(" "), "--json")
    expect(code).toBe(0)
    const loaded = files.filter((file) => ELSEWHERE.test(file))
    const slice = `src/${from.split("/operate/")[0]}/`
    expect(loaded.filter((file) => !file.startsWith(slice))).toEqual([])
    expect(loaded).toContain(`src/${from}`)
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

  it("loads only the settings module for config, which shows all settings", async () => {
    const { code, stdout, files } = await loadedBy(await testFolder(), "config", "--json")
    expect(code).toBe(0)
    const shown = JSON.parse(stdout).settings.map(({ name }: { name: string }) => name)
    expect(shown).toEqual(listSettings({}).map(({ name }) => name))
    expect(files).toContain("src/bootstrap/settings/parse-config.ts")
    expect(
      files.filter((file) => /^src\/(slices\.ts|\w+\/(operate|slice)|frame\/http)/.test(file)),
    ).toEqual([])
  })

  it("loads no stores and no slices for audit check", async () => {
    const { code, files } = await loadedBy(await testFolder(), "audit", "check", "no-such-file")
    expect(code).toBe(1)
    expect(files).toContain("src/audit/check-file.ts")
    expect(
      files.filter((file) => /^(src\/bootstrap\/|src\/slices\.ts|projections\/)/.test(file)),
    ).toEqual([])
  })

  it.each(["--version", "--help", "limit set --help"])(
    "is the only declaration that %s loads",
    async (line) => {
      const { code, files, packages } = await loadedBy(await testFolder(), ...line.split(" "))
      expect(code).toBe(0)
      expect(files).toContain("src/main.ts")
      expect(files.filter((file) => ELSEWHERE.test(file))).toEqual([])
      // Each further package would delay --help.
      expect(packages).toEqual(["commander"])
    },
  )

  it("has executable files for the program", async () => {
    for (const name of ["ledger", "company-ledger"]) {
      const file = new URL(`../../bin/${name}.mjs`, import.meta.url)
      expect(await readFile(file, "utf8")).toMatch(/^#!\/usr\/bin\/env node\n/)
      expect((await stat(file)).mode & 0o111).toBe(0o111)
    }
  })
})

const ROOT = resolve(import.meta.dirname, "../..")

describe("a printed command line to paste", () => {
  it("is short in a clone with the default folder", () => {
    expect(programCommandLine(`${ROOT}/data`, ROOT)).toBe("bin/ledger.mjs")
  })

  it("names the program's file and the data folder in full if they are elsewhere", () => {
    expect(programCommandLine("/srv/data", "/srv")).toBe(`${ROOT}/bin/ledger.mjs`)
    expect(programCommandLine("/srv/other", "/srv")).toBe(
      `LEDGER_DATA_DIR=/srv/other ${ROOT}/bin/ledger.mjs`,
    )
  })

  it("is quoted for a shell, for any folder name", () => {
    const line = programCommandLine("/srv/o'neill $HOME", "/srv").replace(/ \S+$/, "")
    const script = `${line} ; printf %s "$LEDGER_DATA_DIR"`
    expect(spawnSync("sh", ["-c", script], { encoding: "utf8" }).stdout).toBe("/srv/o'neill $HOME")
  })
})

/** How each shell runs a script, and how it calls completion functions: zsh like its bashcompinit. */
const SHELLS: Record<
  CompletionShell,
  { readonly args: readonly string[]; readonly calls: string }
> = {
  bash: { args: ["--norc", "-c"], calls: "_company_ledger" },
  zsh: {
    args: ["-f", "-c"],
    calls: "() { emulate -L sh; setopt kshglob noshglob braceexpand; _company_ledger }",
  },
}

/** Completions of the last of these words; null if the shell is not installed. */
function offered(shell: CompletionShell, words: readonly string[]): readonly string[] | null {
  const { args, calls } = SHELLS[shell]
  const line = words.map((word) => `'${word}'`).join(" ")
  const script = `${completionScript(CATALOGUE, shell)}
    COMP_WORDS=(company-ledger ${line})
    COMP_CWORD=${words.length}
    ${calls}
    printf '%s\\n' "\${COMPREPLY[@]}"`
  const { status, stdout, error } = spawnSync(shell, [...args, script], { encoding: "utf8" })
  if (error !== undefined) return null
  expect(status).toBe(0)
  return stdout.split("\n").filter((word) => word !== "")
}

describe("completion", () => {
  describe.each(["bash", "zsh"] as const)("%s", (shell) => {
    it.for([
      ["comp", "completion company"],
      ["company res", "restore"],
      ["charge re", "refund"],
      ["company create --p", "--plan --pays"],
      ["limit set --class ", "ai general"],
      ["limit set --class ai --per", "--person --period"],
      ["completion ", "bash zsh --help"],
      ["help comp", "completion company"],
      ["help company ", ""],
      ["key create --company acme --operation phone.messages.s", "phone.messages.send"],
      ["projections rebuild char", "charge-days charges"],
      // The shell completes file names itself.
      ["export billing --out ", ""],
      ["no such ", ""],
    ] as const)("completes %j with %j", ([typed, expected], context) => {
      const found = offered(shell, typed.split(" "))
      if (found === null) return context.skip(`no ${shell} on this machine`)
      return expect(found.join(" ")).toBe(expected)
    })
  })

  it("offers every command and every option that help shows", () => {
    const script = completionScript(CATALOGUE, "bash")
    for (const { name, options } of CATALOGUE.commands) {
      const offers = script.match(new RegExp(`^ +'${name}'\\) words='(.*)' ;;$`, "m"))?.[1] ?? ""
      const flags = options.map(({ flags: usage }) => usage.split(" ")[0])
      expect(offers.split(" ")).toEqual(expect.arrayContaining(flags))
    }
  })

  it("is registered in zsh for the file too, which an alias may name", (context) => {
    const script = `${completionScript(CATALOGUE, "zsh")}
    print -r -- "$_comps[company-ledger] / $_comps[ledger.mjs]"`
    const { status, stdout, error } = spawnSync("zsh", ["-f", "-c", script], { encoding: "utf8" })
    if (error !== undefined) return context.skip("no zsh on this machine")
    expect(status).toBe(0)
    const [one = "", other] = stdout.trim().split(" / ")
    expect(one).toContain("_company_ledger")
    return expect(other).toBe(one)
  })

  it("is registered in bash for the file too", () => {
    const script = `${completionScript(CATALOGUE, "bash")}
    complete -p company-ledger ledger.mjs`
    const { stdout } = spawnSync("bash", ["--norc", "-c", script], { encoding: "utf8" })
    expect(stdout).toBe(
      "complete -o default -F _company_ledger company-ledger\n" +
        "complete -o default -F _company_ledger ledger.mjs\n",
    )
  })
})
