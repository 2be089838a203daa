/** What remains of a company 14 days after its deletion: amounts, times and hashes, without personal data. */
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
const erased = await plantPersonalData(world, "quixotic", "417")
const other = await plantPersonalData(world, "zephyrous", "518")
await world.ports.runner.close()
// The planner's statistics contain values of the columns as well.
await executeSql(world.databaseUrl, "analyze")
const before = { dump: await dumpDatabase(world), unsealed: await readUnsealedStreams(world) }
const bill = () => exportMonth(world, erased, month)
const billBefore = (await bill()).text
await world.call(erased.key, "POST", "/api/v1/company/delete", { body: { confirm: erased.name } })
await world.operate("clock advance", { duration: "14d" })

const all = (planted: PlantedCompany) => Object.keys(planted.secrets).toSorted()

/** All secrets but the key, which is never stored. */
const withoutKey = (planted: PlantedCompany) => all(planted).filter((what) => what !== "key")

describe("before the erasure", () => {
  it("every secret is found, so the search covers where it is stored", () => {
    expect(secretsFoundIn([...before.dump, before.unsealed], erased.secrets)).toEqual(
      withoutKey(erased),
    )
  })
})

describe("after the erasure", () => {
  it("no table and no stream has a name, an email, a phone number, a text or a key", async () => {
    expect(await world.operate("company show", { company: erased.companyId })).toMatchObject({
      name: null,
      deleted: { erasing: false, erased: expect.stringMatching(/^2031-05-20T12:/) },
    })
    const { jobs } = await world.operate("job list")
    expect(jobs.filter(({ kind }: { kind: string }) => kind === "erase-company")).toEqual([])
    expect(secretsFoundIn(await dumpDatabase(world), erased.secrets)).toEqual([])
    expect(secretsFoundIn([await readUnsealedStreams(world)], erased.secrets)).toEqual([])
  })

  it("no database file and no log has them, while those of another company are found", async () => {
    const files = await databaseFiles(world)
    const found = files.map(
      ({ name, content }) => [name, secretsFoundIn([content], erased.secrets)] as const,
    )
    expect(found.filter(([, secrets]) => secrets.length > 0)).toEqual([])
    const contents = files.map(({ content }) => content)
    expect(secretsFoundIn(contents, other.secrets)).toContain("person's email")
    expect(secretsFoundIn(world.warnings, erased.secrets)).toEqual([])
  })

  it("another company keeps everything", async () => {
    const texts = [...(await dumpDatabase(world)), await readUnsealedStreams(world)]
    expect(secretsFoundIn(texts, other.secrets)).toEqual(withoutKey(other))
    expect((await world.call(other.key, "GET", "/api/v1/people")).status).toBe(200)
  })

  it("the audit passes, and the bill's lines are unchanged", async () => {
    expect(await auditFaultsOf(world)).toEqual([])
    const { text, result } = await bill()
    // Later refunds and calls follow the former lines, and the last line has the ledger head.
    const linesBefore = billBefore.trimEnd().split("\r\n").slice(0, -1)
    expect(linesBefore.length).toBeGreaterThan(3)
    expect(text.split("\r\n").slice(0, linesBefore.length)).toEqual(linesBefore)
    const { balanceMicros } = await world.operate("company show", { company: erased.companyId })
    expect(result.closingMicros).toBe(balanceMicros)
  })

  it("no charge is pending: charges with an unknown outcome are refunded", async () => {
    expect(await world.operate("charge pending", { company: erased.companyId })).toMatchObject({
      charges: [],
    })
  })

  it("a rebuilt read model is the same", async () => {
    for (const name of ["people", "messages", "companies", "numbers", "opt-outs", "apps"]) {
      await world.operate("projections rebuild", { name })
    }
    expect((await world.operate("projections verify")).ok).toBe(true)
    expect(secretsFoundIn(await dumpDatabase(world), erased.secrets)).toEqual([])
  })

  it("answers have ids and no names", async () => {
    const { companies } = await world.operate("company list")
    const row = companies.find(({ companyId }: PlantedCompany) => companyId === erased.companyId)
    expect(row).toMatchObject({ name: null })
    const { people } = await world.operate("person list", { company: erased.companyId })
    expect(people).toHaveLength(2)
    expect(people[0]).toMatchObject({ name: null, email: null })
  })

  it("the company cannot be restored, and new data is rejected", async () => {
    await expect(world.operate("company restore", { company: erased.companyId })).rejects.toThrow(
      "This company was deleted at least 14 days ago; its data is erased and cannot be restored.",
    )
    await expect(
      addPerson(world, erased, { role: "user", name: "Late", email: "l@example.com" }),
    ).rejects.toThrow(`The company ${erased.companyId} was erased: no data can be stored for it.`)
    const company = { company: erased.companyId }
    for (const name of ["card set", "card remove", "affiliate join"]) {
      await expect(world.operate(name, company)).rejects.toMatchObject({ code: "company_erased" })
    }
    expect((await world.call(erased.key, "GET", "/api/v1/people")).status).toBe(401)
  })

  it("companies that are created later have one number each, and different ones", async () => {
    const created: string[] = []
    for (const name of ["After One", "After Two", "After Three"]) {
      created.push((await world.operate("company create", { name })).companyId)
    }
    await world.operate("wait")
    const numbers: string[] = []
    for (const companyId of created) {
      const stream = `phone-${companyId}`
      const { events } = await world.operate("audit show", { stream, unseal: true })
      numbers.push(...events.map(({ data }: { data: { number: string } }) => data.number))
    }
    expect(new Set(numbers).size).toBe(3)
    expect(numbers).toHaveLength(3)
  })

  it("another company can take its name", async () => {
    const { companyId } = await world.operate("company create", { name: erased.name })
    expect(companyId).not.toBe(erased.companyId)
    await world.operate("company delete", { company: companyId })
    await world.operate("clock advance", { duration: "14d" })
  })
})
