import { describe, expect, it } from "vitest"
import { listSettings, readConfig } from "../../src/bootstrap/settings/config.ts"
import { maskEventStoreAddress } from "../../src/frame/kernel/event-store-address.ts"
import { openEventStore } from "../../src/bootstrap/open/event-store.ts"

const settingOf = (LEDGER_EVENTSTORE_URL: string) =>
  listSettings({ LEDGER_EVENTSTORE_URL }).find(({ name }) => name === "LEDGER_EVENTSTORE_URL")

describe("LEDGER_EVENTSTORE_URL", () => {
  it.each([
    "esdb://127.0.0.1:2113?tls=false",
    "esdb://admin:s3cret@node-1:2113,node-2:2113?tlsCAFile=/etc/ca.crt",
    "esdb+discover://cluster.example.com:2113",
    "esdb://node:2113/?tls=true&tlsVerifyCert=true",
  ])("accepts %s", (url) => {
    expect(readConfig({ LEDGER_EVENTSTORE_URL: url }).eventStoreUrl).toBe(url)
  })

  it("is null if it is unset or empty", () => {
    expect(readConfig({}).eventStoreUrl).toBeNull()
    expect(readConfig({ LEDGER_EVENTSTORE_URL: "" }).eventStoreUrl).toBeNull()
  })

  it.each([
    [
      "http://127.0.0.1:2113",
      /LEDGER_EVENTSTORE_URL must be esdb:\/\/host:2113 \(separate the hosts of a cluster/,
    ],
    ["esdb://", /LEDGER_EVENTSTORE_URL must be/],
    ["esdb://host:2113?tlsVerifyCert=false", /tlsVerifyCert=false, .* tlsCAFile=/],
    ["esdb://host:2113?tls=true&tls-verify-cert=0", /tlsCAFile=/],
  ])("rejects %s with the fix, together with all other faults", (url, words) => {
    expect(() => readConfig({ LEDGER_EVENTSTORE_URL: url })).toThrow(words)
    expect(() => readConfig({ LEDGER_EVENTSTORE_URL: url, PORT: "x" })).toThrow(/PORT must be/)
  })

  it("is rejected if the client would use only the first of several hosts", async () => {
    const opening = openEventStore(
      "postgres://nowhere/db",
      "esdb+discover://me:s3cret@a:1,b:2?tls=false",
    )
    await expect(opening).rejects.toThrow(
      /^LEDGER_EVENTSTORE_URL cannot be used: .*Use esdb:\/\/a:1,b:2 for a list/,
    )
    await expect(opening).rejects.not.toThrow(/s3cret/)
  })

  it("is shown without its password", () => {
    expect(settingOf("esdb://admin:s3@cret@node:2113?tls=false")).toMatchObject({
      value: "esdb://admin:***@node:2113?tls=false",
      source: "environment",
    })
    expect(maskEventStoreAddress("esdb://node:2113?tls=false")).toBe("esdb://node:2113?tls=false")
  })

  it("is rejected with a sentence without the password if the client cannot use it", async () => {
    const opening = openEventStore("postgres://nowhere/db", "esdb://me:s3cret@node:2113?nonsense=1")
    await expect(opening).rejects.toThrow(/^LEDGER_EVENTSTORE_URL cannot be used: .*nonsense\.$/)
    await expect(opening).rejects.not.toThrow(/s3cret/)
  })
})
