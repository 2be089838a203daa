import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, it } from "vitest"
import { type Company, makeCompany, ownWorld } from "../support/world.ts"
import { GSM_SEGMENT_MICROS, chargeAmountsOf, postText } from "./text-requests.ts"

const URL = "/api/v1/phone/destinations"
const LONDON = "+447400123456"
const KINGSTON = "+18765550123"

const world = await ownWorld("prices")
const folder = await mkdtemp(join(tmpdir(), "prices-"))
afterAll(() => rm(folder, { recursive: true }))

const read = async ({ key }: Company) => (await world.call(key, "GET", URL)).body
const put = ({ key }: Company, country: string, on: boolean) =>
  world.call(key, "PATCH", URL, { body: { country, on } })
const find = (countries: readonly { readonly code: string }[], code: string) =>
  countries.find((one) => one.code === code)
const operate = (action: "add" | "remove", { companyId }: Company, country: string) =>
  world.operate(`destination ${action}`, { company: companyId, country })

describe("the countries", () => {
  it("are the two that are always on, those that a company can switch, and those that support adds", async () => {
    const { alwaysOn, selfServe, support, pricing } = await read(await makeCompany(world))
    expect(alwaysOn).toEqual([
      { code: "US", name: "United States" },
      { code: "CA", name: "Canada" },
    ])
    expect(selfServe).toHaveLength(29)
    expect(find(selfServe, "GB")).toEqual({
      code: "GB",
      name: "United Kingdom",
      prefixes: ["+44"],
      on: false,
      price: { textMicros: 100_000, callMicros: 60_000 },
    })
    expect(find(selfServe, "PR")).toMatchObject({ prefixes: ["+1787", "+1939"] })
    expect(find(support, "JM")).toEqual({
      code: "JM",
      name: "Jamaica",
      prefixes: ["+1658", "+1876"],
      on: false,
      textMicros: 250_000,
      callMicros: 400_000,
    })
    for (const code of ["CU", "IR", "KP", "SY", "US", "GB"]) {
      expect(find(support, code), code).toBeUndefined()
    }
    expect(pricing).toEqual({ markup: null, carrierPricesFrom: null })
  })

  it("are switched by the company if they are self-serve", async () => {
    const company = await makeCompany(world)
    const { status, body } = await put(company, "gb", true)
    expect(status).toBe(200)
    expect(find(body.selfServe, "GB")).toMatchObject({ on: true })
    expect(body).toEqual(await read(company))
    expect(find((await put(company, "GB", false)).body.selfServe, "GB")).toMatchObject({
      on: false,
    })
  })

  it.for(["US", "JM", "CU", "ZZ"])("cannot be switched by the company: %s", async (country) => {
    const { status, body } = await put(await makeCompany(world), country, true)
    expect([status, body.error]).toEqual([403, "contact_support"])
  })

  it("are added by support, except unsupported ones", async () => {
    const company = await makeCompany(world)
    await operate("add", company, "JM")
    expect(find((await read(company)).support, "JM")).toMatchObject({ on: true })
    await expect(operate("add", company, "CU")).rejects.toThrow("are not supported")
    await expect(operate("remove", company, "US")).rejects.toThrow("always enabled")
    await expect(operate("add", company, "ZZ")).rejects.toThrow("two letters")
    await operate("remove", company, "JM")
    expect(find((await read(company)).support, "JM")).toMatchObject({ on: false })
  })
})

describe("a text", () => {
  it("is sent only to countries that are on, at their price", async () => {
    const company = await makeCompany(world)
    const refused = await postText(world, company.key, { to: LONDON })
    expect([refused.status, refused.body.error]).toEqual([400, "bad_number"])
    await put(company, "GB", true)
    expect((await postText(world, company.key, { to: LONDON })).status).toBe(200)
    expect((await postText(world, company.key)).status).toBe(200)
    expect((await chargeAmountsOf(world, company)).map(({ micros }) => micros)).toEqual([
      100_000,
      GSM_SEGMENT_MICROS,
    ])
    await put(company, "GB", false)
    expect((await postText(world, company.key, { to: LONDON })).status).toBe(400)
  })

  it("to Jamaica does not count as one to the US, despite the prefix +1", async () => {
    const company = await makeCompany(world)
    expect((await postText(world, company.key, { to: KINGSTON })).body.error).toBe("bad_number")
    await operate("add", company, "JM")
    expect((await postText(world, company.key, { to: KINGSTON })).status).toBe(200)
    expect((await chargeAmountsOf(world, company)).map(({ micros }) => micros)).toEqual([250_000])
  })

  it.for([
    ["a landline of a country that is on", "+442070313000"],
    ["an island that shares its prefix but is a country of its own", "+447797123456"],
    ["a satellite phone", "+8816123456789"],
    ["a premium number of no country", "+19765550123"],
  ] as const)("is never sent to %s", async ([, to]) => {
    const company = await makeCompany(world)
    await put(company, "GB", true)
    expect((await postText(world, company.key, { to })).body.error).toBe("bad_number")
  })
})

async function writePriceList(text: string): Promise<string> {
  const file = join(folder, "prices.csv")
  await writeFile(file, text)
  return file
}

const HEADER = "country,carrierTextMicros,carrierCallMicros"

describe("price destinations", () => {
  it("sets the carrier's prices plus the markup, rounded up to 100 micro-dollars", async () => {
    const company = await makeCompany(world)
    const file = await writePriceList(`${HEADER}\r\nFR,50001,12000\r\nJM,200000,300000\r\n`)
    const loaded = await world.operate("price destinations", {
      file,
      markup: "1.3",
      from: "2026-11-01",
    })
    expect(loaded).toMatchObject({ countries: 2, markupPermille: 1_300 })
    const { selfServe, support, pricing } = await read(company)
    expect(find(selfServe, "FR")).toMatchObject({
      price: { textMicros: 65_100, callMicros: 15_600 },
    })
    expect(find(support, "JM")).toMatchObject({ textMicros: 260_000, callMicros: 390_000 })
    expect(find(selfServe, "DE")).toMatchObject({ price: { textMicros: 100_000 } })
    expect(pricing).toEqual({ markup: 1.3, carrierPricesFrom: "2026-11-01" })
    await put(company, "FR", true)
    await postText(world, company.key, { to: "+33612345678" })
    expect(await chargeAmountsOf(world, company)).toMatchObject([{ micros: 65_100 }])
    const again = await world.operate("price destinations", { file })
    expect(again.version).toBe(loaded.version + 1)
  })

  it.for([
    ["another header", "code,text,call\nGB,1,2\n", "Line 1 must be"],
    ["an unknown country", `${HEADER}\nZZ,1,2\n`, "Line 2 names ZZ, which is not a country code"],
    ["an invalid price", `${HEADER}\nGB,1,2\nFR,1.5,2\n`, "Line 3 must be a country"],
    ["a country of price set", `${HEADER}\nUS,1,2\n`, 'Line 2 prices US, which "price set" prices'],
    ["an unsupported country", `${HEADER}\nKP,1,2\n`, "Line 2 prices KP, which cannot be reached"],
    ["a country twice", `${HEADER}\nGB,1,2\nGB,1,2\n`, "Line 3 names GB a second time"],
    ["no prices", `${HEADER}\n`, "Line 2 must be"],
  ] as const)("rejects a whole list with %s", async ([, text, message]) => {
    const file = await writePriceList(text)
    await expect(world.operate("price destinations", { file })).rejects.toThrow(message)
    const missing = { file: join(folder, "none.csv") }
    await expect(world.operate("price destinations", missing)).rejects.toThrow("ENOENT")
  })
})
