/** How the environment is read where several words mean the same. */
import { describe, expect, it } from "vitest"
import { readConfig } from "../../src/compose/config.ts"

describe("settings", () => {
  it("are unset where they are blank", () => {
    const { port, logRequests } = readConfig({})
    expect(readConfig({ PORT: " ", LOG_REQUESTS: "\t" })).toMatchObject({ port, logRequests })
  })

  it.each([
    ["?sslmode=require", "?sslmode=verify-full"],
    ["?a=b&sslmode=prefer&c=d", "?a=b&sslmode=verify-full&c=d"],
    ["?sslmode=disable", "?sslmode=disable"],
    ["?sslmode=require&uselibpqcompat=true", "?sslmode=require&uselibpqcompat=true"],
  ])("take %s of a database for what the driver makes of it", (given, taken) => {
    const url = "postgres://a:b@db.test/ledger"
    expect(readConfig({ DATABASE_URL: `${url}${given}` }).databaseUrl).toBe(`${url}${taken}`)
  })
})
