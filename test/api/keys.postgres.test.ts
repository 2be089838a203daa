import { describe, expect, it } from "vitest"
import { makeApiKey } from "../../src/frame/routes/checks/credentials.ts"
import { MESSAGES_PATH } from "../phone/text-requests.ts"
import { makeCompany, makeKey, ownWorld } from "../support/world.ts"

const world = await ownWorld("store")
const company = await makeCompany(world)

const PEOPLE = "/api/v1/people"

/** Calls with an `Authorization` header, or without one. */
async function callWith(authorization: string | undefined, url = PEOPLE) {
  const headers = authorization === undefined ? {} : { authorization }
  return world.call(null, "GET", url, { headers })
}

/** The same key with another character at an index. */
function changed(key: string, index: number): string {
  const other = key.at(index) === "a" ? "b" : "a"
  return `${key.slice(0, index)}${other}${key.slice(index + 1)}`
}

describe("a key after its scheme", () => {
  it.for([
    ["one space", (key: string) => `Bearer ${key}`],
    ["two spaces", (key: string) => `Bearer  ${key}`],
    ["the scheme in lower case", (key: string) => `bearer ${key}`],
    ["a space at the end", (key: string) => `BEARER ${key} `],
  ] as const)("is accepted with %s (RFC 9110 §11.4)", async ([, header]) => {
    expect((await callWith(header(company.key))).status).toBe(200)
  })
})

describe("401", () => {
  it.for([
    ["no header", () => undefined],
    ["an empty header", () => ""],
    ["the key alone", (key: string) => key],
    ["another scheme", (key: string) => `Basic ${key}`],
    ["a scheme that begins with Bearer", (key: string) => `Bearers ${key}`],
    ["no key after the scheme", () => "Bearer "],
    ["no space", (key: string) => `Bearer${key}`],
    ["two keys", (key: string) => `Bearer ${key} ${key}`],
    ["a list of keys", (key: string) => `Bearer ${key},${key}`],
    ["quotes", (key: string) => `Bearer "${key}"`],
    ["a wrong checksum", (key: string) => `Bearer ${changed(key, key.length - 1)}`],
    ["a wrong secret", (key: string) => `Bearer ${changed(key, 40)}`],
    ["another company's tag", (key: string) => `Bearer ${changed(key, 5)}`],
    ["a truncated key", (key: string) => `Bearer ${key.slice(0, -1)}`],
    ["a key with one character too many", (key: string) => `Bearer ${key}x`],
    ["a key of another service", () => "Bearer sk-live-0123456789"],
    ["a very long key", () => `Bearer cpk_${"a".repeat(10_000)}`],
  ] as const)("rejects %s", async ([, header]) => {
    for (const url of [PEOPLE, MESSAGES_PATH]) {
      const { status, body } = await callWith(header(company.key), url)
      expect([status, body.error]).toEqual([401, "invalid_key"])
      expect(Object.keys(body)).toEqual(["error", "message"])
    }
  })

  it("rejects a well-formed key that was never created, of a known or unknown company", async () => {
    for (const companyId of [company.companyId, "co_unknown"] as const) {
      const { key } = makeApiKey(companyId)
      expect((await callWith(`Bearer ${key}`)).status).toBe(401)
    }
  })

  it("rejects a well-formed key with the tag of another key", async () => {
    const { key } = makeApiKey(company.companyId)
    const [, companyTag, , secret] = key.split("_")
    const keyTag = company.key.split("_")[2]
    expect((await callWith(`Bearer cpk_${companyTag}_${keyTag}_${secret}`)).status).toBe(401)
  })

  it("rejects a paused key until it is resumed, and a deleted key forever", async () => {
    const { key, keyId } = await makeKey(world, company)
    const authorization = `Bearer ${key}`
    await world.operate("key pause", { keyId })
    expect((await callWith(authorization)).status).toBe(401)
    await world.operate("key resume", { keyId })
    expect((await callWith(authorization)).status).toBe(200)
    await world.operate("key delete", { keyId })
    expect((await callWith(authorization)).status).toBe(401)
  })

  it("has the same body for keys that are malformed, unknown, deleted or have a wrong secret", async () => {
    const paused = await makeKey(world, company)
    await world.operate("key pause", { keyId: paused.keyId })
    const deleted = await makeKey(world, company)
    await world.operate("key delete", { keyId: deleted.keyId })
    const [, companyTag, keyTag] = paused.key.split("_")
    const [, , , secret] = makeApiKey(company.companyId).key.split("_")
    const keys = [
      "x",
      deleted.key,
      makeApiKey("co_unknown").key,
      `cpk_${companyTag}_${keyTag}_${secret}`,
    ]
    const bodies = await Promise.all(
      keys.map(async (key) => (await callWith(`Bearer ${key}`)).body),
    )
    expect(new Set(bodies.map((body) => JSON.stringify(body))).size).toBe(1)
  })
})

describe("200", () => {
  it("answers the scheme in any case and a key that was just created", async () => {
    const { key } = await makeKey(world, company)
    for (const scheme of ["Bearer", "bearer", "BEARER"]) {
      expect((await callWith(`${scheme} ${key}`)).status).toBe(200)
    }
  })
})

describe("the event store", () => {
  it("never contains a key's secret", async () => {
    const secret = company.key.split("_")[3] as string
    let events = 0
    for await (const page of world.ports.store.readAll()) {
      for (const event of page) {
        events += 1
        expect(event.data + event.metadata).not.toContain(secret)
      }
    }
    expect(events).toBeGreaterThan(0)
  })
})

describe("the message of a 401", () => {
  const callWithHeaders = async (headers: Readonly<Record<string, string>>) =>
    (await world.call(null, "GET", PEOPLE, { headers })).body

  it("asks for the header if there is none", async () => {
    expect(await callWithHeaders({})).toEqual({
      error: "invalid_key",
      message: 'The Authorization header is missing. Send "Authorization: Bearer <API key>".',
    })
  })

  it("names X-Api-Key if the key was sent there", async () => {
    expect(await callWithHeaders({ "x-api-key": company.key })).toEqual({
      error: "invalid_key",
      message: 'X-Api-Key is ignored. Send the API key as "Authorization: Bearer <API key>".',
    })
  })

  it("names the scheme if it is not Bearer", async () => {
    for (const authorization of [company.key, `Basic ${company.key}`, "Bearer a b"]) {
      expect(await callWithHeaders({ authorization })).toEqual({
        error: "invalid_key",
        message: 'The Authorization header must be "Bearer <API key>", with one key.',
      })
    }
  })

  it("says that a key is paused only if the secret is right", async () => {
    const { key, keyId } = await makeKey(world, company)
    await world.operate("key pause", { keyId })
    expect(await callWithHeaders({ authorization: `Bearer ${key}` })).toEqual({
      error: "invalid_key",
      message: "This API key is paused. An owner or admin of the company can resume it.",
    })
    const unknown = await callWithHeaders({ authorization: `Bearer ${changed(key, 40)}` })
    expect(unknown["message"]).toBe("The API key is unknown or deleted.")
  })
})
