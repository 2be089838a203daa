/** Only what can begin an installation makes one: every other command says that none is there. */
import { mkdir, readdir } from "node:fs/promises"
import { dirname } from "node:path"
import { Client } from "pg"
import { describe, expect, it, onTestFinished } from "vitest"
import { PROGRAM } from "../../src/slices.ts"
import { testDatabase } from "../support/postgres.ts"
import type { Place } from "../support/server-process.ts"
import { makePlace } from "../support/server-process.ts"
import { CATALOGUE, fakeHost, fakeOperation, run, wordsOf } from "./fake-host.ts"

async function newPlace(settings: Record<string, string> = {}): Promise<Place> {
  const made = await makePlace(settings)
  onTestFinished(() => made.clear())
  return made
}

const operations = CATALOGUE.commands.filter(({ does }) => does === "operation")

it.each(operations)("$name asks for the stores as it declares itself", async (command) => {
  const { name, example, irreversible } = command
  const asked: unknown[] = []
  const host = fakeHost([fakeOperation(name, async () => ({ ok: true }))])
  const openLocal = async (options: { readonly mayMake: boolean }) => {
    asked.push(options)
    return host.openLocal(options)
  }
  // A file would be written here: this is about what is opened.
  const line = example.replace(/(--out |^backup )\S+/, "$1-")
  await run(wordsOf(irreversible === undefined ? line : `${line} --yes`), { ...host, openLocal })
  return expect(asked).toEqual([{ mayMake: name === "company create" }])
})

it("only what can begin an installation declares it", () => {
  const beginning = PROGRAM.operations.filter(({ begins }) => begins === true)
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
const around = ({ dataDir }: Place) => readdir(dirname(dataDir), { recursive: true })

describe("where no installation is", () => {
  it.each(["company list", "store copy --to database", "company delete acme --yes"])(
    "%s says where it looked and how to make one, and leaves the folder unmade",
    async (line) => {
      const there = await newPlace()
      const ran = await there.attempt(...wordsOf(line))
      expect(ran).toMatchObject({ code: 1, stdout: "" })
      expect(ran.stderr).toBe(
        `There is no installation in ${there.dataDir}: set LEDGER_DATA_DIR to the folder of yours, ` +
          'or make one there with "company-ledger start".\n',
      )
      expect(await around(there)).toEqual([])
    },
  )

  it("doctor leaves the folder unmade as well", async () => {
    const there = await newPlace()
    await there.attempt("doctor")
    expect(await around(there)).toEqual([])
  })

  it("leaves a folder as it is that is something else's", async () => {
    const there = await newPlace()
    await mkdir(there.dataDir)
    expect(await there.attempt("company", "list")).toMatchObject({ code: 1 })
    expect(await readdir(there.dataDir)).toEqual([])
  })

  it("says first that a setting is misspelt, by which another folder may be meant", async () => {
    const there = await newPlace({ LEDGER_DATADIR: "elsewhere" })
    const ran = await there.attempt("company", "list", "--json")
    expect(ran.stderr).toMatch(
      /^Nobody reads the setting LEDGER_DATADIR: was LEDGER_DATA_DIR meant\?\n/,
    )
    expect(JSON.parse(ran.stdout)).toMatchObject({ error: "startup" })
    expect(await around(there)).toEqual([])
  })

  it("says so of a database without our schema, and makes none", async () => {
    const database = await testDatabase({ migrated: false })
    try {
      const there = await newPlace({ DATABASE_URL: database.url })
      const ran = await there.attempt("company", "list")
      expect(ran.code).toBe(1)
      expect(ran.stderr).toMatch(/^There is no installation in the database of DATABASE_URL \(/)
      const { password, pathname } = new URL(database.url)
      expect(ran.stderr).toContain(`${pathname})`)
      if (password !== "") expect(ran.stderr).not.toContain(password)
      expect(await around(there)).toEqual([])
      expect(await schemasOf(database.url)).not.toContain("ledger")
      // What begins one makes it, and from then on it is read.
      await there.ledger("company", "create", "acme")
      expect(await there.ledger("company", "list")).toMatchObject({ companies: [{ name: "acme" }] })
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
