/** What one of several processes tells of itself, and of no other. */
import fastify from "fastify"
import { describe, expect, it, onTestFinished, vi } from "vitest"
import type { ProcessNumber } from "../../src/frame/http/app.ts"
import { refuseOtherProcesses } from "../../src/frame/http/app.ts"

/** Asks a process of its state at an address that is about it, or at another. */
async function ask(own: ProcessNumber, url: string) {
  const app = fastify()
  onTestFinished(() => app.close())
  refuseOtherProcesses(app, own, ["/metrics"])
  app.get("/metrics", async () => "mine")
  app.get("/calls", async () => "anybody's")
  const { statusCode, headers, body } = await app.inject(url)
  return { status: statusCode, connection: headers.connection, body }
}

describe("the state of one of three processes", () => {
  const second = { number: 2, total: 3 }

  it("is its own, on a connection that goes with the answer", async () => {
    const mine = { status: 200, connection: "close", body: "mine" }
    expect(await ask(second, "/metrics")).toEqual(mine)
    expect(await ask(second, "/metrics?process=2")).toEqual(mine)
  })

  it.each(["1", "3"])("is not told for process %s", async (number) => {
    const found = await ask(second, `/metrics?process=${number}`)
    expect(found).toMatchObject({ status: 421, connection: "close" })
    expect(JSON.parse(found.body)).toEqual({
      error: "misdirected",
      message:
        `This is process 2 of 3. Ask for process ${number} again on a new connection. If ` +
        "you get this answer again, that process is not running.",
    })
  })

  it.each(["0", "4", "-1", "2.5", "", "two", "1&process=3"])(
    "is refused for %j, which is none of them",
    async (number) => {
      const { status, body } = await ask(second, `/metrics?process=${number}`)
      expect(status).toBe(404)
      expect(JSON.parse(body)).toEqual({
        error: "not_found",
        message: "There is no such process: their numbers are 1 to 3.",
      })
    },
  )

  it("is nothing that other paths are about", async () => {
    const found = await ask(second, "/calls?process=1")
    expect(found).toEqual({ status: 200, connection: "keep-alive", body: "anybody's" })
  })
})

it("is the only one where there is one, on a connection that may stay", async () => {
  const one = { number: 1, total: 1 }
  expect(await ask(one, "/metrics?process=1")).toMatchObject({ status: 200 })
  expect(await ask(one, "/metrics")).toMatchObject({ connection: "keep-alive" })
  expect((await ask(one, "/metrics?process=2")).status).toBe(404)
})

it("asks nothing of the route once it refuses, however slowly the refusal is sent", async () => {
  const app = fastify()
  onTestFinished(() => app.close())
  refuseOtherProcesses(app, { number: 2, total: 3 }, ["/metrics"])
  app.addHook("onSend", () => new Promise((sent) => setImmediate(sent)))
  const metrics = vi.fn<() => Promise<string>>(async () => "mine")
  app.get("/metrics", metrics)
  expect((await app.inject("/metrics?process=1")).statusCode).toBe(421)
  expect(metrics).not.toHaveBeenCalled()
})
