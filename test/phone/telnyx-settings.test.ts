import { describe, expect, it } from "vitest"
import { readConfig } from "../../src/bootstrap/settings/config.ts"
import { settingsReader } from "../../src/frame/settings.ts"
import { examineCarrier } from "../../src/phone/providers/carrier.ts"
import { startTelnyx } from "../support/telnyx-server.ts"
import { signingAccount } from "../support/telnyx-signing.ts"

const TELNYX_KEY = "KEY0123456789abcdef"
const TELNYX_PUBLIC_KEY = signingAccount().publicKey
const BASE_URL = "https://ledger.example.com"

describe("the settings of Telnyx", () => {
  it("replace the simulated carrier, and do not allow the test clock", () => {
    const settings = { TELNYX_KEY, TELNYX_PUBLIC_KEY, BASE_URL }
    expect(readConfig(settings).simulatedProviders.names).not.toContain("carrier")
    expect(() => readConfig({ ...settings, LEDGER_CLOCK: "test" })).toThrow(
      "LEDGER_CLOCK cannot be test while TELNYX_KEY is set.",
    )
  })

  it.each([
    [{ TELNYX_KEY, BASE_URL }, "Telnyx needs TELNYX_PUBLIC_KEY too."],
    [{ TELNYX_PUBLIC_KEY, BASE_URL }, "Telnyx needs TELNYX_KEY too."],
    [
      { TELNYX_KEY, TELNYX_PUBLIC_KEY },
      "Telnyx calls this server back: set BASE_URL to its public address.",
    ],
    [{ TELNYX_KEY: "secret", TELNYX_PUBLIC_KEY, BASE_URL }, "TELNYX_KEY must be an API key"],
    [{ TELNYX_KEY, TELNYX_PUBLIC_KEY: "AAAA", BASE_URL }, "TELNYX_PUBLIC_KEY must be"],
    [{ TELNYX_URL: "ftp://x" }, "TELNYX_URL must be an address such as"],
    [{ TELNYX_CONNECTION: "x" }, "TELNYX_CONNECTION must be the id of a connection"],
  ])("are rejected: %j", (settings, message) => {
    expect(() => readConfig(settings)).toThrow(message)
  })
})

describe("doctor", () => {
  const findingsOf = (settings: Record<string, string>) =>
    examineCarrier({ settings: settingsReader(settings) } as Parameters<typeof examineCarrier>[0])

  it("reports whether Telnyx accepts the key, and nothing about the simulated carrier", async () => {
    const server = await startTelnyx()
    const settings = { TELNYX_KEY: server.key, TELNYX_URL: server.url }
    expect(await findingsOf({})).toEqual([])
    expect(await findingsOf(settings)).toMatchObject([
      { state: "ok", says: "Telnyx accepts the key" },
    ])
    expect(await findingsOf({ ...settings, TELNYX_KEY: "KEYofAnotherAccount" })).toMatchObject([
      { state: "wrong", says: "Telnyx answered the key with status 401" },
    ])
    await server.close()
    expect(await findingsOf(settings)).toMatchObject([
      { state: "wrong", fix: "check TELNYX_URL, and that this machine can reach it" },
    ])
  })
})
