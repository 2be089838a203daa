/** The checks of `doctor` for the resolver and PowerDNS. */
import { once } from "node:events"
import type { AddressInfo } from "node:net"
import { createServer } from "node:http"
import { afterAll, describe, expect, it } from "vitest"
import { readConfig } from "../../src/bootstrap/settings/config.ts"
import { machinePacer } from "../../adapters/machine/clock/database-clock.ts"
import { examineDns } from "../../src/domains/providers/examine-dns.ts"
import { settingsReader } from "../../src/frame/settings.ts"
import { serveZones, zoneWith } from "../dns/dns-server.ts"

const nameServer = await serveZones([zoneWith("acme.com", [])])
const powerDns = createServer((request, response) => {
  response.statusCode = request.headers["x-api-key"] === "right" ? 200 : 401
  response.end("{}")
})
powerDns.listen(0, "127.0.0.1")
await once(powerDns, "listening")
const url = `http://127.0.0.1:${(powerDns.address() as AddressInfo).port}`
afterAll(async () => {
  await nameServer.close()
  powerDns.close()
})

const examined = (given: Record<string, string>) =>
  examineDns({
    settings: settingsReader(given),
    dataDir: "",
    stored: null,
    pacer: machinePacer,
  })

it("reports nothing if neither DNS_RESOLVER nor POWERDNS_URL is set", async () => {
  expect(await examined({})).toEqual([])
})

it("reports a resolver that does not answer, with the setting to check", async () => {
  // An authoritative server refuses queries for other zones.
  const [found] = await examined({ DNS_RESOLVER: nameServer.address })
  expect(found).toEqual({
    check: "names",
    state: "wrong",
    fix: "check DNS_RESOLVER",
    says: `the resolver at ${nameServer.address} does not answer: ${nameServer.address} answered REFUSED for com`,
  })
})

it("reports whether PowerDNS accepts the key", async () => {
  const [accepted] = await examined({ POWERDNS_URL: url, POWERDNS_KEY: "right" })
  expect(accepted).toMatchObject({ state: "ok", says: `PowerDNS at ${new URL(url).host} answers` })
  const [rejected] = await examined({ POWERDNS_URL: url, POWERDNS_KEY: "wrong" })
  expect(rejected).toMatchObject({ state: "wrong", says: expect.stringContaining("401") as string })
  const gone = { POWERDNS_URL: "http://127.0.0.1:9", POWERDNS_KEY: "right" }
  const [silent] = await examined(gone)
  expect(silent).toMatchObject({ state: "wrong", fix: expect.stringContaining("POWERDNS_URL") })
})

describe("the DNS settings", () => {
  it.each([
    [{ DNS_LISTEN: "53" }, "DNS_LISTEN must be an address and a port"],
    [{ DNS_RESOLVER: "somewhere" }, "DNS_RESOLVER must be system"],
    [
      { POWERDNS_URL: "http://127.0.0.1:8081" },
      "POWERDNS_URL and POWERDNS_KEY must be set together.",
    ],
    [{ DNS_LISTEN: "0.0.0.0:53" }, "Set DNS_RESOLVER"],
    [{ EDGE_ADDRESSES: "example.com" }, "EDGE_ADDRESSES must be addresses"],
  ])("%j are rejected", (given, fault) => {
    expect(() => readConfig(given)).toThrow(fault)
  })
})
