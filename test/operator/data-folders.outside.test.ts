/** Commands without an installation, commands next to a server with other settings, and a server that cannot listen. */
import { mkdir, readdir } from "node:fs/promises"
import { dirname } from "node:path"
import { Client } from "pg"
import { describe, expect, it, onTestFinished, afterAll, beforeAll } from "vitest"
import { PROGRAM } from "../../src/slices.ts"
import { testDatabase } from "../support/test-database.ts"
import type { ServerDataFolder, ServerProcess } from "../support/server-process.ts"
import { makeDataFolder } from "../support/server-process.ts"
import { CATALOGUE, fakeHost, fakeOperation, runTestCommand, splitWords } from "./fake-host.ts"
import process from "node:process"
import { once } from "node:events"
import { type AddressInfo, createServer } from "node:net"
import { hasCluster } from "../../adapters/postgres/embedded/folder.ts"

async function newFolder(settings: Record<string, string> = {}): Promise<ServerDataFolder> {
  const made = await makeDataFolder(settings)
  onTestFinished(() => made.removeFiles())
  return made
}

const operations = CATALOGUE.commands.filter(({ does }) => does === "operation")

it.each(operations)("$name may create an installation only if it declares so", async (command) => {
  const { name, example, irreversible } = command
  const opened: unknown[] = []
  const host = fakeHost([fakeOperation(name, async () => ({ ok: true }))])
  const openInProcess = async (options: { readonly mayMake: boolean }) => {
    opened.push(options)
    return host.openInProcess(options)
  }
  // `-` keeps the command from writing a file.
  const line = example.replace(/(--out |^backup )\S+/, "$1-")
  await runTestCommand(splitWords(irreversible === undefined ? line : `${line} --yes`), {
    ...host,
    openInProcess,
  })
  return expect(opened).toEqual([{ mayMake: name === "company create" }])
})

it("only company create can create an installation", () => {
  const creating = PROGRAM.operations.filter(
    ({ createsInstallation }) => createsInstallation === true,
  )
  expect(creating.map(({ name }) => name)).toEqual(["company create"])
})

it("operations that only read do not declare a change", () => {
  const changing = PROGRAM.operations.filter(({ changes }) => changes === true)
  expect(changing.map(({ name }) => name)).toContain("company create")
  for (const name of ["company list", "audit verify", "audit head", "wait", "backup", "ask"]) {
    const found = PROGRAM.operations.find((operation) => operation.name === name)
    expect([name, found?.changes]).toEqual([name, undefined])
  }
})

const filesAround = ({ dataDir }: ServerDataFolder) =>
  readdir(dirname(dataDir), { recursive: true })

describe("a command without an installation", () => {
  it.each(["company list", "store migrate --to database", "company delete acme --yes"])(
    "%s says which folder it checked and how to create an installation, and creates nothing",
    async (line) => {
      const there = await newFolder()
      const ran = await there.tryCommand(...splitWords(line))
      expect(ran).toMatchObject({ code: 1, stdout: "" })
      expect(ran.stderr).toBe(
        `There is no installation in ${there.dataDir}. Set LEDGER_DATA_DIR to your data folder, ` +
          'or create an installation with "company-ledger start".\n',
      )
      expect(await filesAround(there)).toEqual([])
    },
  )

  it("doctor does not create the folder either", async () => {
    const there = await newFolder()
    await there.tryCommand("doctor")
    expect(await filesAround(there)).toEqual([])
  })

  it("does not change an existing folder that is not an installation", async () => {
    const there = await newFolder()
    await mkdir(there.dataDir)
    expect(await there.tryCommand("company", "list")).toMatchObject({ code: 1 })
    expect(await readdir(there.dataDir)).toEqual([])
  })

  it("warns first about a misspelled setting, which may name another folder", async () => {
    const there = await newFolder({ LEDGER_DATADIR: "elsewhere" })
    const ran = await there.tryCommand("company", "list", "--json")
    expect(ran.stderr).toMatch(/^Unknown setting LEDGER_DATADIR: did you mean LEDGER_DATA_DIR\?\n/)
    expect(JSON.parse(ran.stdout)).toMatchObject({ error: "startup" })
    expect(await filesAround(there)).toEqual([])
  })

  it("reports a database without our schema, and creates none", async () => {
    const database = await testDatabase({ migrated: false })
    try {
      const there = await newFolder({ DATABASE_URL: database.url })
      const ran = await there.tryCommand("company", "list")
      expect(ran.code).toBe(1)
      expect(ran.stderr).toMatch(/^There is no installation in the database of DATABASE_URL \(/)
      const { password, pathname } = new URL(database.url)
      expect(ran.stderr).toContain(`${pathname})`)
      if (password !== "") expect(ran.stderr).not.toContain(password)
      expect(await filesAround(there)).toEqual([])
      expect(await schemasOf(database.url)).not.toContain("ledger")
      // `company create` creates the installation, and later commands read it.
      await there.runCommand("company", "create", "acme")
      expect(await there.runCommand("company", "list")).toMatchObject({
        companies: [{ name: "acme" }],
      })
    } finally {
      await database.drop()
    }
  })
})

async function schemasOf(url: string): Promise<readonly string[]> {
  const client = new Client(url)
  await client.connect()
  try {
    const { rows } = await client.query<{ nspname: string }>("select nspname from pg_namespace")
    return rows.map(({ nspname }) => nspname)
  } finally {
    await client.end()
  }
}

describe("config next to a running server", () => {
  const MASTER_KEY = "ab".repeat(32)
  let folder: ServerDataFolder
  let server: ServerProcess
  /** The same data folder, in another environment. */
  let otherShell: ServerDataFolder
  beforeAll(async () => {
    folder = await makeDataFolder({ RATE_LIMITS: "off", LEDGER_MASTER_KEY: MASTER_KEY })
    server = await folder.start()
    otherShell = await makeDataFolder({ LEDGER_DATA_DIR: folder.dataDir })
  })

  afterAll(async () => {
    await otherShell.removeFiles()
    await folder.removeFiles()
  })

  it("shows the server's settings next to the command's, without secrets", async () => {
    const { settings } = await otherShell.runCommand("config")
    expect(settings).toContainEqual({
      name: "RATE_LIMITS",
      value: "on",
      source: "default",
      server: "off",
    })
    expect(settings).toContainEqual({
      name: "LEDGER_MASTER_KEY",
      value: "(unset)",
      source: "default",
      server: "***",
    })
    expect(JSON.stringify(settings)).not.toContain(MASTER_KEY)
  })

  it("shows only the command's settings with a warning if the server does not answer", async () => {
    process.kill(server.pid, "SIGSTOP")
    try {
      const { code, stdout, stderr } = await otherShell.tryCommand("config", "--json")
      expect([code, stderr]).toEqual([
        0,
        expect.stringMatching(/uses this data folder and does not/),
      ])
      expect(JSON.parse(stdout).settings).toContainEqual({
        name: "RATE_LIMITS",
        value: "on",
        source: "default",
      })
    } finally {
      process.kill(server.pid, "SIGCONT")
    }
    expect(await server.endBySignal("SIGTERM")).toBe(0)
  })

  it("shows only the command's settings if no server runs", async () => {
    const { settings } = await otherShell.runCommand("config")
    expect(settings).toContainEqual({
      name: "RATE_LIMITS",
      value: "on",
      source: "default",
    })
  })
})

/** Starts a server that cannot listen; returns its output, and whether its folder has a database afterwards. */
async function startedAt(settings: Record<string, string>) {
  const folder = await newFolder({ ...settings, LOG_LEVEL: "info" })
  const ran = await folder.tryCommand("start")
  return { ...ran, hasDatabase: await hasCluster(folder.dataDir) }
}

describe("a server that cannot listen", () => {
  it("names the port that another program uses, and creates no database", async () => {
    const other = createServer().listen(0, "127.0.0.1")
    await once(other, "listening")
    try {
      const PORT = String((other.address() as AddressInfo).port)
      const { code, stdout, stderr, hasDatabase } = await startedAt({ PORT })
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
      expect(stderr).toBe(
        `Port ${PORT} on 127.0.0.1 is in use. Stop the program that uses it, or set PORT to ` +
          "another port (0 picks a free one).\n",
      )
      expect(hasDatabase).toBe(false)
    } finally {
      other.close()
    }
  })

  it("names an address that this machine does not have", async () => {
    const { code, stderr } = await startedAt({ HOST: "192.0.2.1" })
    expect(code).toBe(1)
    expect(stderr).toBe(
      "This machine has no address 192.0.2.1. Set HOST to one of its addresses.\n",
    )
  })
})
