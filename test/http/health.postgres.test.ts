/** The endpoints for process supervisors: liveness, readiness and metrics. */
import { PROGRAM } from "../../src/slices.ts"
import fastify from "fastify"
import type { FastifyInstance } from "fastify"
import { describe, expect, it, onTestFinished, vi } from "vitest"
import { CorruptStream, StaleStore } from "../../adapters/eventstore/port.ts"
import { buildApp } from "../../src/frame/http/app.ts"
import { addHealthRoutes } from "../../src/frame/http/health.ts"
import type { Ports } from "../../src/frame/ports.ts"
import { watchPressure } from "../../src/frame/http/router-entries.ts"
import { MESSAGES_PATH, postText } from "../phone/text-requests.ts"
import { makeCompany, ownWorld } from "../support/world.ts"
import { apiCallerAt } from "../support/api-caller.ts"
import type { ApiAnswer } from "../support/world.ts"

const world = await ownWorld("time")
const company = await makeCompany(world)

const WELL = [
  "ok serving",
  "ok database",
  "ok event store",
  "ok clock",
  "ok read models",
  "ok streams",
  "ok work",
]

/** The health routes with some ports replaced. */
async function withPorts(ports: Partial<Ports>): Promise<FastifyInstance> {
  const app = fastify()
  addHealthRoutes(app, { ...world.ports, ...ports })
  await app.ready()
  onTestFinished(() => app.close())
  return app
}

async function readiness(app: FastifyInstance) {
  const { statusCode, body } = await app.inject("/readyz")
  const lines = body.trimEnd().split("\n")
  return { status: statusCode, verdict: lines.at(-1), lines: lines.slice(0, -1) }
}

describe("/livez", () => {
  it("answers GET and HEAD and rejects other verbs", async () => {
    const { statusCode, body } = await world.app.inject("/livez")
    expect([statusCode, body]).toEqual([200, "ok\n"])
    const head = await world.app.inject({ method: "HEAD", url: "/livez" })
    expect([head.statusCode, head.body]).toEqual([200, ""])
    const post = await world.app.inject({ method: "POST", url: "/livez" })
    expect([post.statusCode, post.headers.allow]).toEqual([405, "GET, HEAD"])
  })
})

describe("/readyz", () => {
  it("has a line for each requirement of serving", async () => {
    const lines = [...WELL, "ok cards"]
    expect(await readiness(world.app)).toEqual({ status: 200, verdict: "ready", lines })
  })

  it("names a failing part with only the name of the error", async () => {
    const ready = async () => {
      throw Object.assign(new Error("esdb://admin:secret@host is away"), { name: "Unavailable" })
    }
    const app = await withPorts({ store: { ...world.ports.store, ready } })
    const { status, verdict, lines } = await readiness(app)
    expect([status, verdict]).toEqual([503, "not ready"])
    expect(lines).toEqual(WELL.with(2, "fail event store Unavailable"))
  })

  it("waits at most a second for a part: warns the first time and fails the second time", async () => {
    let now = 0
    const pacer = { ...world.ports.pacer, elapsedMs: () => now }
    let isSlow = true
    const ready = async () => (isSlow ? new Promise<never>(() => undefined) : undefined)
    const app = await withPorts({ pacer, store: { ...world.ports.store, ready } })
    const check = async () => {
      now += 1_000
      const { status, lines } = await readiness(app)
      return [status, lines[2]]
    }
    const late = "event store no answer in 1000 ms"
    expect(await check()).toEqual([200, `warn ${late}`])
    expect(await check()).toEqual([503, `fail ${late}`])
    isSlow = false
    expect(await check()).toEqual([200, "ok event store"])
    isSlow = true
    expect(await check()).toEqual([200, `warn ${late}`])
  })

  it("fails once an append has waited for two seconds, even if the store answers reads", async () => {
    let waitMs = 1_999
    const app = await withPorts({
      store: { ...world.ports.store, oldestAppendWaitMs: () => waitMs },
    })
    expect((await readiness(app)).status).toBe(200)
    waitMs = 2_000
    const { status, lines } = await readiness(app)
    expect([status, lines]).toEqual([
      503,
      WELL.with(2, "fail event store an append has waited for 2000 ms"),
    ])
    waitMs = 0
    expect((await readiness(app)).status).toBe(200)
  })

  it("says that the event store is an older copy", async () => {
    const ready = async () => {
      throw new StaleStore("it ends at 7, and 9 was seen in it before")
    }
    const app = await withPorts({ store: { ...world.ports.store, ready } })
    const { lines } = await readiness(app)
    expect(lines).toEqual(WELL.with(2, "fail event store it is an older copy or a different store"))
  })

  it("warns of corrupt streams with their names but not their content", async () => {
    const discrepancy = { stream: "ledger-co_a", revision: 3, expected: "3", found: "4" }
    const runner = { ...world.ports.runner, corruptStreams: () => [new CorruptStream(discrepancy)] }
    const found = await readiness(await withPorts({ runner }))
    const line = "warn streams corrupt: ledger-co_a from revision 3"
    expect([found.status, found.lines]).toEqual([200, WELL.with(5, line)])
  })

  it("warns of stopped read models and continues to serve", async () => {
    const { projector } = world.ports
    const status = async () => {
      const [first, ...rest] = await projector.status()
      return [{ ...(first as NonNullable<typeof first>), state: "stopped" as const }, ...rest]
    }
    const [stopped] = await projector.status()
    const app = await withPorts({ projector: { ...projector, status } })
    const found = await readiness(app)
    expect([found.status, found.verdict]).toEqual([200, "ready"])
    expect(found.lines).toEqual(WELL.with(4, `warn read models stopped: ${stopped?.name}`))
  })

  it("warns of jobs that wait for an operator", async () => {
    const backlog = async () => ({ due: 0, dueSince: null, stuck: 2, stuckSince: 1 })
    const found = await readiness(await withPorts({ jobs: { ...world.ports.jobs, backlog } }))
    expect([found.status, found.lines]).toEqual([200, WELL.with(6, "warn work stuck: 2")])
  })

  it.for([
    [false, "ok simulated carrier, mailer"],
    [true, "warn simulated carrier, mailer"],
  ] as const)(
    "lists simulated providers, and warns if real money is taken (%s)",
    async ([takesRealMoney, line]) => {
      const app = fastify()
      addHealthRoutes(app, world.ports, {
        simulatedProviders: { names: ["carrier", "mailer"], takesRealMoney },
      })
      onTestFinished(() => app.close())
      expect((await readiness(app)).lines).toEqual([...WELL, line])
    },
  )

  it("checks once for many concurrent requests", async () => {
    let checks = 0
    const ready = () => {
      checks += 1
      return world.ports.store.ready()
    }
    const app = await withPorts({ store: { ...world.ports.store, ready } })
    await Promise.all(Array.from({ length: 50 }, () => app.inject("/readyz")))
    expect(checks).toBe(1)
  })

  it("says that the server is stopping", async () => {
    const app = fastify({ return503OnClosing: false })
    addHealthRoutes(app, world.ports)
    const { promise: page, resolve } = Promise.withResolvers<string>()
    let url = ""
    app.addHook("preClose", async () => resolve(await (await fetch(`${url}/readyz`)).text()))
    url = await app.listen({ host: "127.0.0.1", port: 0 })
    await app.close()
    expect(await page).toBe(
      `${WELL.with(0, "fail serving the server is stopping").join("\n")}\nnot ready\n`,
    )
  })
})

describe("/metrics", () => {
  const metrics = async () => (await world.app.inject("/metrics")).body

  it("counts calls by route, verb and status, and rejected calls by error", async () => {
    await postText(world, company.key)
    await world.call(null, "GET", MESSAGES_PATH)
    const text = await metrics()
    const sent = `ledger_call_seconds_count{route="${MESSAGES_PATH}",method="POST",status="200"}`
    expect(text.split("\n")).toContain(`${sent} 1`)
    expect(text).toContain(`ledger_refusals_total{route="${MESSAGES_PATH}",error="invalid_key"} 1`)
    expect(text).toMatch(/^ledger_calls_in_progress \d+$/m)
    expect(text).toMatch(/^ledger_corrupt_streams 0$/m)
  })

  it("has the state of each read model", async () => {
    const text = await metrics()
    for (const { name } of await world.ports.projector.status()) {
      expect(text).toMatch(new RegExp(`^ledger_read_model_stopped\\{name="${name}"\\} 0$`, "m"))
      expect(text).toMatch(new RegExp(`^ledger_read_model_behind\\{name="${name}"\\} \\d+$`, "m"))
      const seconds = `^ledger_read_model_behind_seconds\\{name="${name}"\\} [\\d.e-]+$`
      expect(text).toMatch(new RegExp(seconds, "m"))
    }
  })

  it("has the readiness of /readyz", async () => {
    const text = await metrics()
    const ready = text.split("\n").filter((line) => line.startsWith("ledger_ready{"))
    const names = ["database", "event store", "clock", "read models", "streams", "work", "cards"]
    expect(ready).toEqual(names.map((name) => `ledger_ready{name="${name}"} 1`))
    const store = { ...world.ports.store, ready: () => Promise.reject(new Error("gone")) }
    const app = await buildApp({ ...world.ports, store }, [], [])
    onTestFinished(() => app.close())
    expect((await app.inject("/metrics")).body).toContain('ledger_ready{name="event store"} 0\n')
  })

  it("counts audits, starting at zero", async () => {
    expect(await metrics()).toContain('ledger_audits_total{result="broken"} 0\n')
    const passed = async () =>
      Number(/^ledger_audits_total\{result="held"\} (\d+)$/m.exec(await metrics())?.[1])
    const before = await passed()
    await world.operate("audit verify", { company: company.companyId })
    expect(await passed()).toBe(before + 1)
  })

  it("counts charges, and rejected ones by limit", async () => {
    const poor = await makeCompany(world, { limits: [{ period: "week", dollars: "0.01" }] })
    const statuses = [await postText(world, poor.key), await postText(world, poor.key)]
    expect(statuses.map(({ status }) => status)).toEqual([200, 429])
    const text = await metrics()
    expect(text).toMatch(/^ledger_facts_total\{type="Charged"\} [1-9]\d*$/m)
    const limit = 'holder="company",class="general",period="week"'
    expect(text).toContain(`ledger_refused_charges_total{code="spend_limit_reached",${limit}} 1\n`)
    expect(text).toMatch(/^ledger_event_store_appends_total\{result="stored"\} [1-9]\d*$/m)
    expect(text).toMatch(/^ledger_event_store_append_seconds_total\{result="stored"\} [\d.e-]+$/m)
    expect(text).toMatch(/^ledger_database_connections\{pool="api",state="waiting"\} \d+$/m)
    expect(text).toContain("# TYPE ledger_facts_total counter")
  })

  it("has the number and age of due and stuck jobs", async () => {
    const now = world.ports.clock.now()
    const backlog = async () => ({ due: 3, dueSince: now - 90_000, stuck: 1, stuckSince: now })
    const ports = { ...world.ports, jobs: { ...world.ports.jobs, backlog } }
    const app = await buildApp(ports, [], [])
    onTestFinished(() => app.close())
    const text = (await app.inject("/metrics")).body
    expect(text).toContain('ledger_jobs{state="due"} 3\nledger_jobs{state="stuck"} 1')
    expect(text).toContain('ledger_jobs_oldest_seconds{state="due"} 90\n')
    expect(text).toContain('ledger_jobs_oldest_seconds{state="stuck"} 0\n')
  })

  it("contains no company, person, key or phone number", async () => {
    await world.call(company.key, "GET", "/api/v1/nothing/+14155550123?name=Ada")
    const text = await metrics()
    for (const secret of [company.companyId, company.key, company.keyId, "4155550123", "Ada"]) {
      expect(text).not.toContain(secret)
    }
  })
})

describe("an overloaded process", () => {
  it("rejects calls and still answers /livez", async () => {
    const app = fastify()
    app.addHook("onSend", () => new Promise((sent) => setImmediate(sent)))
    await watchPressure(app, { heapBytes: 1, sampleEveryMs: 10 })
    addHealthRoutes(app, world.ports)
    const done = vi.fn<() => Promise<string>>(async () => "done")
    app.get("/work", done)
    await app.ready()
    onTestFinished(() => app.close())
    const work = () => app.inject("/work")
    await expect.poll(async () => (await work()).statusCode).toBe(503)
    done.mockClear()
    const { statusCode, headers, body } = await work()
    expect(done).not.toHaveBeenCalled()
    expect([statusCode, headers["retry-after"]]).toEqual([503, "5"])
    expect(JSON.parse(body)).toMatchObject({ error: "overloaded" })
    expect((await app.inject("/livez")).statusCode).toBe(200)
  })
})

describe("a stopping server", () => {
  it("answers new calls with an API error and does not begin them", async () => {
    const app = await buildApp(world.ports, PROGRAM.entries, PROGRAM.retiredPaths)
    const { promise: late, resolve } = Promise.withResolvers<ApiAnswer>()
    let url = ""
    const body = { to: "+14155550187", body: "too late" }
    // Delays the sending of the error.
    app.addHook("onSend", () => new Promise((sent) => setImmediate(sent)))
    app.addHook("preClose", async () =>
      resolve(await apiCallerAt(url)(company.key, "POST", MESSAGES_PATH, { body })),
    )
    url = await app.listen({ host: "127.0.0.1", port: 0 })
    await app.close()
    const answer = await late
    expect([answer.status, answer.headers["retry-after"]]).toEqual([503, "5"])
    expect(answer.body).toMatchObject({
      error: "unavailable",
      message: expect.stringContaining("did not run this request") as string,
    })
    const { body: list } = await world.call(company.key, "GET", MESSAGES_PATH)
    expect(JSON.stringify(list)).not.toContain("too late")
  })
})
