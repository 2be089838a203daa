/** Connections to apps that are kept from one request to the next. */
import type { Socket } from "node:net"
import { afterAll, beforeAll, expect, it } from "vitest"
import { answering } from "../../boxes/preview-world.ts"
import type { DoorWorld } from "./door-world.ts"
import { openDoorWorld } from "./door-world.ts"

let at: DoorWorld
beforeAll(async () => {
  at = await openDoorWorld()
})
afterAll(() => at.close())

/** An app whose connections are counted; it answers with the number of the one it was asked over. */
async function counted(also: (socket: Socket, n: number) => void = () => undefined) {
  const sockets: Socket[] = []
  await at.runApp((socket) => {
    const n = sockets.push(socket)
    answering((_request, response) => response.end(String(n)))(socket)
    also(socket, n)
  })
  return { sockets, ask: async (method = "GET") => at.see("/", { method }) }
}

it("are of the next page, and never of what does something or has a body", async () => {
  const { ask } = await counted()
  const asked = []
  for (const method of ["GET", "GET", "POST", "GET"]) asked.push((await ask(method)).body)
  expect(asked).toEqual(["1", "1", "2", "1"])
  const body = await at.see("/", { body: "hello", headers: { "content-length": "5" } })
  expect(body.body).toBe("3")
})

it("are another's once the app has ended them", async () => {
  const { sockets, ask } = await counted()
  expect((await ask()).body).toBe("1")
  const ended = new Promise((resolve) => sockets[0]?.once("close", resolve))
  sockets[0]?.destroy()
  await ended
  await expect.poll(async () => (await ask()).body).toBe("2")
})

it("that end as they are asked are asked again, once", async () => {
  let dying = Number.NaN
  const { ask } = await counted((socket, n) => {
    // Every second question over one, and any over those behind it.
    let questions = 0
    socket.prependListener("data", () => {
      questions += 1
      if ((n === 1 && questions === 2) || n >= dying) socket.destroy()
    })
  })
  expect((await ask()).body).toBe("1")
  expect(await ask()).toMatchObject({ status: 200, body: "2" })
  dying = 2
  expect((await ask()).status).toBe(502)
})

it("are never of a version that another took the place of", async () => {
  const former = await counted()
  expect((await former.ask()).body).toBe("1")
  const { sockets } = await counted()
  expect(sockets).toHaveLength(0)
  expect((await at.see("/")).body).toBe("1")
  expect(sockets).toHaveLength(1)
})
