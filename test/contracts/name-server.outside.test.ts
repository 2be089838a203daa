import { afterAll, beforeEach, describe, expect, it } from "vitest"
import { openPowerDns } from "../../adapters/providers/dns/powerdns.ts"
import { serving } from "../dns/serving.ts"
import type { PowerDns } from "../support/powerdns.ts"
import { freePort, powerDnsHere, startPowerDns } from "../support/powerdns.ts"
import { describeNameServer } from "./name-server-contract.ts"

const server = await serving([])
afterAll(() => server.close())
describeNameServer("the built-in name server", () => ({
  nameServer: server.served,
  address: server.address,
}))

const found = powerDnsHere()
const absent = "missing" in found ? found.missing : null

const powerDns = "root" in found ? await startPowerDns(found.root) : null

describe("PowerDNS", () => {
  const here = (): PowerDns => powerDns ?? expect.fail("it is not here")
  beforeEach((ctx) => ctx.skip(absent !== null, absent ?? ""))
  afterAll(() => powerDns?.close())
  describeNameServer("PowerDNS", () => ({
    nameServer: openPowerDns(here()),
    address: here().address,
  }))

  it("says which setting is wrong where it refuses us, and that it is not there", async () => {
    const wrong = openPowerDns({ url: here().url, key: "another" })
    await expect(wrong.withdraw("first.example")).rejects.toThrow("PowerDNS answered 401")
    const nowhere = openPowerDns({ url: `http://127.0.0.1:${await freePort()}`, key: "key" })
    await expect(nowhere.withdraw("first.example")).rejects.toMatchObject({
      name: "ProviderUnavailable",
    })
  })
})
