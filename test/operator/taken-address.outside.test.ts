/** A server that cannot listen says so, and leaves a new data folder without a database. */
import { once } from "node:events"
import type { AddressInfo } from "node:net"
import { createServer } from "node:net"
import { afterEach, expect, it } from "vitest"
import { hasCluster } from "../../adapters/postgres/embedded/folder.ts"
import type { Place } from "../support/server-process.ts"
import { makePlace } from "../support/server-process.ts"

const places: Place[] = []
afterEach(async () => {
  for (const one of places.splice(0)) await one.clear()
})

/** Starts a server that cannot listen; tells what it wrote, and whether its folder has a database then. */
async function startedAt(settings: Record<string, string>) {
  const place = await makePlace({ ...settings, LOG_LEVEL: "info" })
  places.push(place)
  const ran = await place.attempt("start")
  return { ...ran, hasDatabase: await hasCluster(place.dataDir) }
}

it("names the port that another program uses, and makes no database", async () => {
  const other = createServer().listen(0, "127.0.0.1")
  await once(other, "listening")
  try {
    const PORT = String((other.address() as AddressInfo).port)
    const { code, stdout, stderr, hasDatabase } = await startedAt({ PORT })
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
    expect(stderr).toBe(
      `Port ${PORT} on 127.0.0.1 is taken: stop the program that uses it, or set PORT to another ` +
        "(0 picks a free one).\n",
    )
    expect(hasDatabase).toBe(false)
  } finally {
    other.close()
  }
})

it("names an address that is not this machine's", async () => {
  const { code, stderr } = await startedAt({ HOST: "192.0.2.1" })
  expect(code).toBe(1)
  expect(stderr).toBe("This machine has no address 192.0.2.1: set HOST to one it has.\n")
})
