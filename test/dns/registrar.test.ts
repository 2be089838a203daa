import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { once } from "node:events"
import { afterEach, describe, expect, it } from "vitest"
import { machinePacer } from "../../adapters/clock/pacer.ts"
import { openRdap } from "../../adapters/providers/dns/rdap.ts"

const CARD = [
  "vcard",
  [
    ["version", {}, "text", "4.0"],
    ["fn", {}, "text", "Some Registrar, Inc."],
  ],
]
const ANSWER = { entities: [{ roles: ["abuse"] }, { roles: ["registrar"], vcardArray: CARD }] }

describe("the registrar of a domain by RDAP", () => {
  let close = async (): Promise<void> => undefined
  afterEach(() => close())

  const open = async (answer: unknown, pacer = machinePacer) => {
    const asked: string[] = []
    const server = createServer((request, response) => {
      asked.push(request.url ?? "")
      if (request.url === "/silent/domain/acme.net") return
      const { port } = server.address() as AddressInfo
      const services = [
        [["com", "org"], [`http://127.0.0.1:${port}/rdap`]],
        [["net"], [`http://127.0.0.1:${port}/silent/`]],
      ]
      response.setHeader("content-type", "application/json")
      response.end(JSON.stringify(request.url === "/dns.json" ? { services } : answer))
    })
    server.listen(0, "127.0.0.1")
    await once(server, "listening")
    close = async () => {
      server.closeAllConnections()
      server.close()
      await once(server, "close")
    }
    const { port } = server.address() as AddressInfo
    return {
      asked,
      registrar: openRdap({ pacer, bootstrapUrl: `http://127.0.0.1:${port}/dns.json` }),
    }
  }

  it("is asked of whom the list names for its end, and the list is kept", async () => {
    const { asked, registrar } = await open(ANSWER)
    expect(await registrar.nameOf("acme.com")).toBe("Some Registrar, Inc.")
    expect(await registrar.nameOf("acme.org")).toBe("Some Registrar, Inc.")
    expect(asked).toEqual(["/dns.json", "/rdap/domain/acme.com", "/rdap/domain/acme.org"])
  })

  it("is null where nobody answers for that end, in another form, or in time", async () => {
    const hurried = {
      ...machinePacer,
      pause: (_: number, signal?: AbortSignal) => machinePacer.pause(80, signal),
    }
    const { registrar } = await open({ entities: [{ roles: ["registrar"] }] }, hurried)
    expect(await registrar.nameOf("acme.example")).toBeNull()
    expect(await registrar.nameOf("acme.com")).toBeNull()
    expect(await registrar.nameOf("acme.net")).toBeNull()
  })
})
