/** Commands where no installation is and beside a server of other settings, and a server that cannot listen. */
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

async function newPlace(settings: Record<string, string> = {}): Promise<ServerDataFolder> {
  const made = await makeDataFolder(settings)
  onTestFinished(() => made.removeFiles())
  return made
}

const operations = CATALOGUE.commands.filter(({ does }) => does === "operation")

it.each(operations)("$name asks for the stores as it declares itself", async (command) => {
  const { name, example, irreversible } = command
  const asked: unknown[] = []
  const host = fakeHost([fakeOperation(name, async () => ({ ok: true }))])
  const openInProcess = async (options: { readonly mayMake: boolean }) => {
    asked.push(options)
    return host.openInProcess(options)
  }
  // A file would be written here: this is about what is opened.
  const line = example.replace(/(--out |^backup )\S+/, "$1-")
  await runTestCommand(splitWords(irreversible === undefined ? line : `${line} --yes`), {
    ...host,
    openInProcess,
  })
  return expect(asked).toEqual([{ mayMake: name === "company create" }])
})

it("only what can begin an installation declares it", () => {
  const beginning = PROGRAM.operations.filter(
    ({ createsInstallation }) => createsInstallation === true,
  )
  expect(beginning.map(({ name }) => name)).toEqual(["company create"])
})

it("those that change something are the ones that take who does it and why", () => {
  const changing = PROGRAM.operations.filter(({ changes }) => changes === true)
  expect(changing.map(({ name }) => name)).toContain("company create")
  for (const name of ["company list", "audit verify", "audit head", "wait", "backup", "ask"]) {
    const found = PROGRAM.operations.find((operation) => operation.name === name)
    expect([name, found?.changes]).toEqual([name, undefined])
  }
})

/** What is in the folder above the data folder of a place. */
const around = ({ dataDir }: ServerDataFolder) => readdir(dirname(dataDir), { recursive: true })

describe("where no installation is", () => {
  it.each(["company list", "store migrate --to database", "company delete acme --yes"])(
    "%s says where it looked and how to make one, and leaves the folder unmade",
    async (line) => {
      const there = await newPlace()
      const ran = await there.tryCommand(...splitWords(line))
      expect(ran).toMatchObject({ code: 1, stdout: "" })
      expect(ran.stderr).toBe(
        `There is no installation in ${there.dataDir}. Set LEDGER_DATA_DIR to your data folder, ` +
          'or create an installation with "company-ledger start".\n',
      )
      expect(await around(there)).toEqual([])
    },
  )

  it("doctor leaves the folder unmade as well", async () => {
    const there = await newPlace()
    await there.tryCommand("doctor")
    expect(await around(there)).toEqual([])
  })

  it("leaves a folder as it is that is something else's", async () => {
    const there = await newPlace()
    await mkdir(there.dataDir)
    expect(await there.tryCommand("company", "list")).toMatchObject({ code: 1 })
    expect(await readdir(there.dataDir)).toEqual([])
  })

  it("says first that a setting is misspelt, by which another folder may be meant", async () => {
    const there = await newPlace({ LEDGER_DATADIR: "elsewhere" })
    const ran = await there.tryCommand("company", "list", "--json")
    expect(ran.stderr).toMatch(/^Unknown setting LEDGER_DATADIR: did you mean LEDGER_DATA_DIR\?\n/)
    expect(JSON.parse(ran.stdout)).toMatchObject({ error: "startup" })
    expect(await around(there)).toEqual([])
  })

  it("says so of a database without our schema, and makes none", async () => {
    const database = await testDatabase({ migrated: false })
    try {
      const there = await newPlace({ DATABASE_URL: database.url })
      const ran = await there.tryCommand("company", "list")
      expect(ran.code).toBe(1)
      expect(ran.stderr).toMatch(/^There is no installation in the database of DATABASE_URL \(/)
      const { password, pathname } = new URL(database.url)
      expect(ran.stderr).toContain(`${pathname})`)
      if (password !== "") expect(ran.stderr).not.toContain(password)
      expect(await around(there)).toEqual([])
      expect(await schemasOf(database.url)).not.toContain("ledger")
      // What begins one makes it, and from then on it is read.
      await there.runCommand("company", "create", "acme")
      expect(await there.runCommand("company", "list")).toMatchObject({
        companies: [{ name: "acme" }],
      })
    } finally {
      await database.drop()
    }
  })
})

/** The schemas of a database. */
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

describe("the settings that a command shows beside a server", () => {
  const MASTER_KEY = "ab".repeat(32)
  let place: ServerDataFolder
  let server: ServerProcess
  /** The same data folder, in an environment of its own. */
  let beside: ServerDataFolder
  beforeAll(async () => {
    place = await makeDataFolder({ RATE_LIMITS: "off", LEDGER_MASTER_KEY: MASTER_KEY })
    server = await place.start()
    beside = await makeDataFolder({ LEDGER_DATA_DIR: place.dataDir })
  })

  afterAll(async () => {
    await beside.removeFiles()
    await place.removeFiles()
  })

  it("are the server's own beside the command's, and secrets nobody's", async () => {
    const { settings } = await beside.runCommand("config")
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

  it("are the command's alone where the server does not answer, and that is said", async () => {
    process.kill(server.pid, "SIGSTOP")
    try {
      const { code, stdout, stderr } = await beside.tryCommand("config", "--json")
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

  it("are the command's alone where no server runs", async () => {
    const { settings } = await beside.runCommand("config")
    expect(settings).toContainEqual({
      name: "RATE_LIMITS",
      value: "on",
      source: "default",
    })
  })
})

/** Starts a server that cannot listen; tells what it wrote, and whether its folder has a database then. */
async function startedAt(settings: Record<string, string>) {
  const place = await newPlace({ ...settings, LOG_LEVEL: "info" })
  const ran = await place.tryCommand("start")
  return { ...ran, hasDatabase: await hasCluster(place.dataDir) }
}

describe("a server that cannot listen", () => {
  it("names the port that another program uses, and makes no database", async () => {
    const other = createServer().listen(0, "127.0.0.1")
    await once(other, "listening")
    try {
      const PORT = String((other.address() as AddressInfo).port)
      const { code, stdout, stderr, hasDatabase } = await startedAt({ PORT })
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
      expect(stderr).toBe(
        `Port ${PORT} on 127.0.0.1 is taken: stop the program that uses it, or set PORT to another ` +
          "(0 picks a free one).\n",
      )
      expect(hasDatabase).toBe(false)
    } finally {
      other.close()
    }
  })

  it("names an address that is not this machine's", async () => {
    const { code, stderr } = await startedAt({ HOST: "192.0.2.1" })
    expect(code).toBe(1)
    expect(stderr).toBe("This machine has no address 192.0.2.1: set HOST to one it has.\n")
  })
})
