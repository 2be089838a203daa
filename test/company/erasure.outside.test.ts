/** What is left of a company 14 days after its deletion: amounts, times and hashes, and nobody. */
import { afterAll, describe, expect, it } from "vitest"
import { exportMonth } from "../billing/bill-export.ts"
import { auditFaultsOf } from "../storage/store-contents.ts"
import { executeSql } from "../support/test-database.ts"
import { openOwnPostgres } from "../support/embedded-postgres.ts"
import { addPerson, ownWorld } from "../support/world.ts"
import {
  type PlantedCompany,
  dumpDatabase,
  databaseFiles,
  secretsFoundIn,
  plantPersonalData,
  readUnsealedStreams,
} from "./planted-data.ts"

const server = await openOwnPostgres()
afterAll(() => server.close())
const world = await ownWorld("store", { server: server.url })
const month = "2031-05"

await world.operate("clock set", { to: "2031-05-06T12:00:00.000Z" })
const gone = await plantPersonalData(world, "quixotic", "417")
const other = await plantPersonalData(world, "zephyrous", "518")
await world.ports.runner.close()
// The planner's notes hold values of the columns as well.
await executeSql(world.databaseUrl, "analyze")
const before = { dump: await dumpDatabase(world), unsealed: await readUnsealedStreams(world) }
const bill = () => exportMonth(world, gone, month)
const billBefore = (await bill()).text
await world.call(gone.key, "POST", "/api/v1/company/delete", { body: { confirm: gone.name } })
await world.operate("clock advance", { duration: "14d" })

const all = (planted: PlantedCompany) => Object.keys(planted.secrets).toSorted()

/** The texts alone: no key is ever stored. */
const withoutKey = (planted: PlantedCompany) => all(planted).filter((what) => what !== "key")

describe("before it was erased", () => {
  it("all of it was there to be read, so it is looked for where it would be found", () => {
    expect(secretsFoundIn([...before.dump, before.unsealed], gone.secrets)).toEqual(
      withoutKey(gone),
    )
  })
})

describe("after it was erased", () => {
  it("no table and no stream has a name, an email, a phone number, a text or a key", async () => {
    expect(await world.operate("company show", { company: gone.companyId })).toMatchObject({
      name: null,
      deleted: { erasing: false, erased: expect.stringMatching(/^2031-05-20T12:/) },
    })
    const { jobs: work } = await world.operate("job list")
    expect(work.filter(({ kind }: { kind: string }) => kind === "erase-company")).toEqual([])
    expect(secretsFoundIn(await dumpDatabase(world), gone.secrets)).toEqual([])
    expect(secretsFoundIn([await readUnsealedStreams(world)], gone.secrets)).toEqual([])
  })

  it("nor has any file of the database, nor the log; the other company's are in them", async () => {
    const lookedAt = await databaseFiles(world)
    const found = lookedAt.map(
      ({ name, content }) => [name, secretsFoundIn([content], gone.secrets)] as const,
    )
    expect(found.filter(([, secrets]) => secrets.length > 0)).toEqual([])
    const contents = lookedAt.map(({ content }) => content)
    expect(secretsFoundIn(contents, other.secrets)).toContain("person's email")
    expect(secretsFoundIn(world.warnings, gone.secrets)).toEqual([])
  })

  it("the other company has all it had", async () => {
    const texts = [...(await dumpDatabase(world)), await readUnsealedStreams(world)]
    expect(secretsFoundIn(texts, other.secrets)).toEqual(withoutKey(other))
    expect((await world.call(other.key, "GET", "/api/v1/people")).status).toBe(200)
  })

  it("the audit holds, and the bill is the same to the byte", async () => {
    expect(await auditFaultsOf(world)).toEqual([])
    const { text, result } = await bill()
    // What was given back or counted since stands behind it, and where it ends behind that.
    const linesBefore = billBefore.trimEnd().split("\r\n").slice(0, -1)
    expect(linesBefore.length).toBeGreaterThan(3)
    expect(text.split("\r\n").slice(0, linesBefore.length)).toEqual(linesBefore)
    const { balanceMicros } = await world.operate("company show", { company: gone.companyId })
    expect(result.closingMicros).toBe(balanceMicros)
  })

  it("no charge of it is left open: what nobody knew the end of was given back", async () => {
    expect(await world.operate("charge pending", { company: gone.companyId })).toMatchObject({
      charges: [],
    })
  })

  it("a read model that is built anew is the same", async () => {
    for (const name of ["people", "messages", "companies", "numbers", "opt-outs", "apps"]) {
      await world.operate("projections rebuild", { name })
    }
    expect((await world.operate("projections verify")).ok).toBe(true)
    expect(secretsFoundIn(await dumpDatabase(world), gone.secrets)).toEqual([])
  })

  it("answers say ids", async () => {
    const { companies } = await world.operate("company list")
    const row = companies.find(({ companyId }: PlantedCompany) => companyId === gone.companyId)
    expect(row).toMatchObject({ name: null })
    const { people } = await world.operate("person list", { company: gone.companyId })
    expect(people).toHaveLength(2)
    expect(people[0]).toMatchObject({ name: null, email: null })
  })

  it("there is no way back, and nothing new is kept for it", async () => {
    await expect(world.operate("company restore", { company: gone.companyId })).rejects.toThrow(
      "This company was deleted at least 14 days ago; its data is erased and cannot be restored.",
    )
    await expect(
      addPerson(world, gone, { role: "user", name: "Late", email: "l@example.com" }),
    ).rejects.toThrow(`The company ${gone.companyId} was erased: no data can be stored for it.`)
    const company = { company: gone.companyId }
    for (const name of ["card set", "card remove", "affiliate join"]) {
      await expect(world.operate(name, company)).rejects.toMatchObject({ code: "company_erased" })
    }
    expect((await world.call(gone.key, "GET", "/api/v1/people")).status).toBe(401)
  })

  it("companies that come after it have one number each, and each its own", async () => {
    const made: string[] = []
    for (const name of ["After One", "After Two", "After Three"]) {
      made.push((await world.operate("company create", { name })).companyId)
    }
    await world.operate("wait")
    const numbers: string[] = []
    for (const companyId of made) {
      const stream = `phone-${companyId}`
      const { events } = await world.operate("audit show", { stream, unseal: true })
      numbers.push(...events.map(({ data }: { data: { number: string } }) => data.number))
    }
    expect(new Set(numbers).size).toBe(3)
    expect(numbers).toHaveLength(3)
  })

  it("its name is another's to take", async () => {
    const { companyId } = await world.operate("company create", { name: gone.name })
    expect(companyId).not.toBe(gone.companyId)
    await world.operate("company delete", { company: companyId })
    await world.operate("clock advance", { duration: "14d" })
  })
})
