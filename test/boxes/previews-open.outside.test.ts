/** Connections by a link that stay open: they end with it, and what passes keeps their box from being idle. */
import { once } from "node:events"
import type { IncomingMessage } from "node:http"
import { expect, it } from "vitest"
import type { BoxId } from "../../domain/boxes/ids.ts"
import type { Company } from "../support/world.ts"
import { BOXES, makeBoxCompany, running, see } from "./boxes-world.ts"
import type { PreviewWorld } from "./preview-world.ts"
import { answering, previewWorld, textOf } from "./preview-world.ts"
import { advance } from "../support/world.ts"

const at = await previewWorld()

const OFFER = "connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-key: abc\r\n"

/** A box that serves port 3000, and the host name of a link to it. */
async function serving(company: Company, asked: object = {}) {
  const { world } = at.one
  const boxId = await running(world, company, asked)
  const url = `${BOXES}/${boxId}`
  await world.call(company.key, "POST", `${url}/processes`, { body: { command: "serve 3000" } })
  const opened = await world.call(company.key, "POST", `${url}/previews`, { body: { port: 3_000 } })
  return { boxId, host: new URL(opened.body.url).host }
}

/** A connection that speaks another protocol by now. */
async function upgraded(host: string) {
  const socket = at.say(`GET / HTTP/1.1\r\nhost: ${host}\r\n${OFFER}\r\n`)
  expect(String(await once(socket, "data"))).toContain("101 Switching Protocols")
  return socket
}

const echoed = async (socket: ReturnType<PreviewWorld["say"]>, text: string) => {
  socket.write(text)
  expect(String(await once(socket, "data"))).toBe(text)
}

it("end once their link is closed, whatever they speak, and those of other links go on", async () => {
  const { world } = at.one
  const company = await makeBoxCompany(at.one)
  const { boxId, host } = await serving(company)
  const socket = await upgraded(host)
  const other = await upgraded((await serving(company)).host)
  await at.listen(
    7_001,
    answering((_request, response) => void response.write("half")),
  )
  const asked = at.begin(await at.hostOf(7_001))
  asked.end()
  const [answer] = (await once(asked, "response")) as [IncomingMessage]
  const torn = expect(textOf(answer)).rejects.toThrow("aborted")
  const ended = once(socket, "close")
  await world.call(company.key, "DELETE", `${BOXES}/${boxId}/previews/3000`)
  await world.call(at.company.key, "DELETE", `${BOXES}/${at.boxId}/previews/7001`)
  await ended
  await torn
  await echoed(other, "well")
  other.destroy()
})

it("keep their box running as long as anything passes, and no longer", async () => {
  const { world } = at.one
  const company = await makeBoxCompany(at.one)
  const [used, unused] = [
    await serving(company, { idleMinutes: 5 }),
    await serving(company, { idleMinutes: 5 }),
  ]
  const socket = await upgraded(used.host)
  await upgraded(unused.host)
  for (let minute = 0; minute < 8; minute += 1) {
    await echoed(socket, `minute ${minute}`)
    await advance(world, "61s")
  }
  const status = async (boxId: BoxId) => (await see(world, company, boxId)).status
  expect([await status(used.boxId), await status(unused.boxId)]).toEqual(["running", "stopped"])
  // What passes is in the activity, too, once a minute.
  const seen = async () => {
    const url = `${BOXES}/${used.boxId}/events`
    const { events } = (await world.call(company.key, "GET", url)).body
    return events.filter(({ action }: { action: string }) => action === "preview").length
  }
  const before = await seen()
  await advance(world, "61s")
  await echoed(socket, "more")
  await expect.poll(seen).toBeGreaterThan(before)
  socket.destroy()
})

it("lead by the link where the box redirects to itself, and nowhere else", async () => {
  const host = await at.hostOf(7_002)
  const places = {
    "http://localhost:7002/a?b#c": "/a?b#c",
    "https://127.0.0.1:7002": "/",
    "http://[::1]:7002?x": "/?x",
    "http://localhost:7003/a": "http://localhost:7003/a",
    "http://localhost:7002.evil.test/": "http://localhost:7002.evil.test/",
    "http://localhost:7002//evil.test": "http://localhost:7002//evil.test",
    "/a": "/a",
  }
  await at.listen(
    7_002,
    answering(({ url = "" }, response) =>
      response.writeHead(302, { location: decodeURIComponent(url.slice(2)) }).end(),
    ),
  )
  for (const [given, shown] of Object.entries(places)) {
    const { headers } = await at.visit(host, { path: `/?${encodeURIComponent(given)}` })
    expect([given, headers.location]).toEqual([given, shown])
  }
})
