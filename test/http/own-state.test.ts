/** A process of several answers only about its own state. */
import fastify from "fastify"
import { describe, expect, it, onTestFinished, vi } from "vitest"
import type { ProcessNumber } from "../../src/frame/http/app.ts"
import { refuseOtherProcesses } from "../../src/frame/http/app.ts"

/** Sends a request to a process. `/metrics` is about its own state, `/calls` is not. */
async function ask(own: ProcessNumber, url: string) {
  const app = fastify()
  onTestFinished(() => app.close())
  refuseOtherProcesses(app, own, ["/metrics"])
  app.get("/metrics", async () => "own state")
  app.get("/calls", async () => "shared state")
  const { statusCode, headers, body } = await app.inject(url)
  return { status: statusCode, connection: headers.connection, body }
}

describe("the state of one of three processes", () => {
  const second = { number: 2, total: 3 }

  it("is answered on a connection that closes", async () => {
    const own = { status: 200, connection: "close", body: "own state" }
    expect(await ask(second, "/metrics")).toEqual(own)
    expect(await ask(second, "/metrics?process=2")).toEqual(own)
  })

  it.each(["1", "3"])("is not answered for process %s", async (number) => {
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
    "is rejected for the unknown process %j",
    async (number) => {
      const { status, body } = await ask(second, `/metrics?process=${number}`)
      expect(status).toBe(404)
      expect(JSON.parse(body)).toEqual({
        error: "not_found",
        message: "No process has this number; processes are numbered 1 to 3.",
      })
    },
  )

  it("does not concern other paths", async () => {
    const found = await ask(second, "/calls?process=1")
    expect(found).toEqual({ status: 200, connection: "keep-alive", body: "shared state" })
  })
})

it("a single process answers on a connection that stays open", async () => {
  const one = { number: 1, total: 1 }
  expect(await ask(one, "/metrics?process=1")).toMatchObject({ status: 200 })
  expect(await ask(one, "/metrics")).toMatchObject({ connection: "keep-alive" })
  expect((await ask(one, "/metrics?process=2")).status).toBe(404)
})

it("a rejected request does not run its route, even if the rejection is sent late", async () => {
  const app = fastify()
  onTestFinished(() => app.close())
  refuseOtherProcesses(app, { number: 2, total: 3 }, ["/metrics"])
  app.addHook("onSend", () => new Promise((sent) => setImmediate(sent)))
  const metrics = vi.fn<() => Promise<string>>(async () => "own state")
  app.get("/metrics", metrics)
  expect((await app.inject("/metrics?process=1")).statusCode).toBe(421)
  expect(metrics).not.toHaveBeenCalled()
})
