/** `docs/deploy.md`: the files that it names exist, and its commands for the master key run. */
import { spawnSync } from "node:child_process"
import {
  chmodSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import process from "node:process"
import { describe, expect, it, onTestFinished } from "vitest"
import { readConfig } from "../../src/bootstrap/settings/config.ts"
import { ROOT } from "../conventions/source-tree.ts"
import { PACKAGE_MANIFEST, yamlDocumentOf, hasProjectPath, projectText } from "./project-files.ts"

const PAGE = projectText("docs/deploy.md")
const blocks = [...PAGE.matchAll(/^```\n([\s\S]*?)^```$/gm)].map(([, block = ""]) => block)

describe("docs/deploy.md", () => {
  it("names existing files", () => {
    const named = PAGE.match(/(?<![\w/])(?:deploy|test)\/[\w./-]*\w/g) ?? []
    expect(named.length).toBeGreaterThan(15)
    expect(named.filter((path) => !hasProjectPath(path))).toEqual([])
    const folders = readdirSync(join(ROOT, "deploy"), { recursive: true, encoding: "utf8" })
    const names = new Set([...folders.map((one) => basename(one)), ...readdirSync(ROOT)])
    const bareNames = [...PAGE.matchAll(/`([\w.-]+\.(?:yaml|conf|json|service|d\/|example))`/g)]
    expect(bareNames.length).toBeGreaterThan(8)
    // `npm run sbom` creates `sbom.cdx.json`.
    const exists = (name: string) => names.has(name.replace("/", "")) || name === "sbom.cdx.json"
    expect(bareNames.map(([, name = ""]) => name).filter((name) => !exists(name))).toEqual([])
  })

  it("names existing services of compose.yaml, scripts of the package and its release", () => {
    const { scripts } = JSON.parse(projectText("package.json")) as { scripts: object }
    for (const [, name = ""] of PAGE.matchAll(/npm run (\w+)/g))
      expect(scripts).toHaveProperty(name)
    const { services } = yamlDocumentOf("compose.yaml")
    const named = PAGE.match(/\bledger-[a-z]\b/g) ?? []
    expect(new Set(named)).toEqual(new Set(["ledger-a", "ledger-b"]))
    for (const name of named) expect(services).toHaveProperty(name)
    const releases = PAGE.match(/company-ledger[-:](\d+\.\d+\.\d+)/g) ?? []
    expect(releases.length).toBeGreaterThan(2)
    expect(releases.filter((one) => !one.endsWith(PACKAGE_MANIFEST.version))).toEqual([])
  })

  it("has commands that a shell can parse", () => {
    const commands = blocks.filter((block) => !/^[A-Z_]+=/.test(block))
    expect(commands.length).toBeGreaterThan(5)
    for (const block of commands) {
      const read = spawnSync("sh", ["-n"], { input: block, encoding: "utf8" })
      expect(read.stderr, block).toBe("")
    }
  })
})

describe("the master key", () => {
  it("is stored in a private file before it is sent to the cluster", () => {
    const [block = ""] = blocks.filter((one) => one.includes("LEDGER_MASTER_KEY"))
    const folder = mkdtempSync(join(tmpdir(), "ledger-key-"))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const kubectl = join(folder, "kubectl")
    writeFileSync(
      kubectl,
      '#!/bin/sh\nfor word in "$@"; do echo "$word" >> kubectlArguments; done\n',
    )
    chmodSync(kubectl, 0o755)
    const PATH = `${folder}:${process.env["PATH"] ?? ""}`
    const env = { ...process.env, PATH, HOME: folder }
    const run = () => spawnSync("sh", ["-e"], { input: block, cwd: folder, env, encoding: "utf8" })
    const { status, stderr } = run()
    expect([status, stderr]).toEqual([0, ""])
    const file = join(folder, "ledger-master-key")
    const masterKey = readFileSync(file, "utf8").trim()
    expect(readConfig({ LEDGER_MASTER_KEY: masterKey }).masterKey).toEqual(
      Buffer.from(masterKey, "hex"),
    )
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const kubectlArguments = readFileSync(join(folder, "kubectlArguments"), "utf8").split("\n")
    expect(kubectlArguments).toContain(`--from-literal=LEDGER_MASTER_KEY=${masterKey}`)
    // A second run does not overwrite it.
    expect(run().status).not.toBe(0)
    expect(readFileSync(file, "utf8").trim()).toBe(masterKey)
  })

  it("is never generated inside of the command that uses it", () => {
    const pages = readdirSync(join(ROOT, "docs")).filter((name) => name.endsWith(".md"))
    const files = [
      ...pages.map((name) => `docs/${name}`),
      "README.md",
      "SECURITY.md",
      ".env.example",
      "compose.yaml",
      ...readdirSync(join(ROOT, "deploy/kubernetes")).map((name) => `deploy/kubernetes/${name}`),
    ]
    const inline = files.filter((file) =>
      /LEDGER_MASTER_KEY=\S*\$\((?!cat )/.test(projectText(file)),
    )
    expect(inline).toEqual([])
  })
})
