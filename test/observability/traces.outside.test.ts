/** Traces of a call: its append, its job and its provider call. */
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { json } from "node:stream/consumers"
import { mkdtemp, readFile, readdir, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it, onTestFinished } from "vitest"
import { openTracing } from "../../adapters/telemetry/opentelemetry.ts"
import { NO_TRACING } from "../../adapters/telemetry/port.ts"
import { withTracing } from "../../src/frame/provider.ts"
import { makeDataFolder } from "../support/server-process.ts"
import { makeCompany } from "../support/world.ts"

interface Attribute {
  readonly key: string
  readonly value: { readonly stringValue?: string; readonly intValue?: number }
}

/** A span as the exporter sends it. */
interface SentSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly attributes: readonly Attribute[]
}

interface SentTraces {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly { readonly spans: readonly SentSpan[] }[]
  }[]
}

/** A running trace collector. */
interface Collector {
  readonly url: string
  readonly spans: readonly SentSpan[]
  readonly close: () => Promise<void>
}

async function startCollector(): Promise<Collector> {
  const spans: SentSpan[] = []
  const server = createServer((request, response) => {
    void json(request).then((body) => {
      const { resourceSpans } = body as SentTraces
      const scopes = resourceSpans.flatMap(({ scopeSpans }) => scopeSpans)
      if (request.url === "/v1/traces") spans.push(...scopes.flatMap((one) => one.spans))
      response.setHeader("content-type", "application/json").end("{}")
    })
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, "close")
    },
  }
}

const TRACE = "0af7651916cd43dd8448eb211c80319c"
const CALLER = "b7ad6b7169203331"
const CALLER_PARENT = `00-${TRACE}-${CALLER}-01`
const TO = "+14155550123"

/** The attributes that spans may have: short names, counts, and ids that identify no person. */
const KEYS = [
  "http.request.method",
  "http.route",
  "http.response.status_code",
  "error.type",
  "ledger.request.id",
  "ledger.company.id",
  "ledger.charge.id",
  "ledger.error",
  "ledger.stream.category",
  "ledger.append.facts",
  "ledger.append.callers",
  "ledger.job.id",
  "ledger.job.kind",
  "ledger.job.attempts",
  "ledger.job.result",
  "ledger.provider",
  "ledger.act",
]

/** Runs from the sources, because coverage then names each module as a file. */
const SOURCES = join(import.meta.dirname, "../../src/main.ts")

/** Starts a server with a company; its coverage shows which modules it loaded. */
async function serve(settings: Record<string, string>) {
  const folder = await mkdtemp(join(tmpdir(), "ledger-loaded-"))
  const dataFolder = await makeDataFolder({ NODE_V8_COVERAGE: folder, ...settings }, SOURCES)
  onTestFinished(async () => {
    await dataFolder.removeFiles()
    await rm(folder, { recursive: true })
  })
  const server = await dataFolder.start()
  const { key } = await makeCompany(dataFolder, { ownerName: "Ada Example" })
  const send = async (headers: Record<string, string> = {}) => {
    const body = { to: TO, body: "private words" }
    const sent = await server.call(key, "POST", "/api/v1/phone/messages", { body, headers })
    expect(sent.status).toBe(200)
  }
  const loaded = async () => {
    expect(await server.endBySignal("SIGTERM")).toBe(0)
    const files = await readdir(folder)
    const texts = await Promise.all(files.map((file) => readFile(join(folder, file), "utf8")))
    const packages = texts.flatMap((text) => [...text.matchAll(/@opentelemetry\/([\w-]+)/g)])
    return [...new Set(packages.map(([, name]) => name))].toSorted()
  }
  return { key, send, loaded }
}

describe("a server", () => {
  it("exports a call, its append, its job and its provider call in the caller's trace", async () => {
    const collector = await startCollector()
    onTestFinished(() => collector.close())
    const { key, send, loaded } = await serve({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url })
    await send({ traceparent: CALLER_PARENT })
    const callerSpans = () => collector.spans.filter(({ traceId }) => traceId === TRACE)
    const named = (name: string) => callerSpans().find((span) => span.name === name)
    await expect.poll(() => named("carrier send")).toBeDefined()
    await expect.poll(() => named("job send-text")).toBeDefined()
    const call = named("POST /api/v1/phone/messages")
    expect(call).toMatchObject({ parentSpanId: CALLER })
    const appends = callerSpans().filter((span) => span.name === "append")
    expect(appends.map(({ parentSpanId }) => parentSpanId)).toContain(call?.spanId)
    const work = named("job send-text")
    expect(work).toMatchObject({ parentSpanId: call?.spanId })
    expect(named("carrier send")).toMatchObject({ parentSpanId: work?.spanId })
    const exported = JSON.stringify(collector.spans)
    expect(exported).toContain('"ledger.charge.id"')
    for (const secret of [TO, TO.slice(1), "private words", key, "Ada", "per_", "key_"]) {
      expect(exported).not.toContain(secret)
    }
    const keys = collector.spans.flatMap(({ attributes }) => attributes.map((one) => one.key))
    expect(KEYS).toEqual(expect.arrayContaining([...new Set(keys)]))
    expect(await loaded()).toContain("sdk-trace")
  })

  it("does not load OpenTelemetry if no collector is set", async () => {
    const { send, loaded } = await serve({})
    await send({ traceparent: CALLER_PARENT })
    // The metrics package loads only the API's constants.
    expect(await loaded()).toEqual(["api"])
  })
})

describe("no tracing", () => {
  it("leaves the ports unchanged, and has no current trace", () => {
    const ports = { carrier: { send: async () => "nothing" } }
    expect(withTracing(ports, NO_TRACING)).toBe(ports)
    expect(NO_TRACING.currentTraceParent()).toBeNull()
  })
})

describe("tracing", () => {
  /** Opens tracing with a collector, and a provider's server that returns the `traceparent` it received. */
  async function openFixture(sampleRatio = 1) {
    const collector = await startCollector()
    const warn = (message: string, error: unknown) =>
      expect.unreachable(`${message}: ${String(error)}`)
    const tracing = openTracing({ url: collector.url, sampleRatio, instanceId: "proc_1", warn })
    const server = createServer((request, response) => {
      response.end(request.headers["traceparent"] ?? "nothing")
    })
    server.listen(0, "127.0.0.1")
    await once(server, "listening")
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    onTestFinished(async () => {
      await tracing.close()
      await collector.close()
      server.close()
    })
    const send = async () => (await fetch(url)).text()
    return {
      collector,
      tracing,
      ports: withTracing({ carrier: { send, isReal: () => true } }, tracing),
      send,
    }
  }

  const CALL = { name: "call", kind: "server" } as const

  it("sends the trace to providers, and not to other servers", async () => {
    const { tracing, ports, send, collector } = await openFixture()
    expect(await ports.carrier.send()).toBe("nothing")
    const [viaPort, direct, real] = await tracing.span(CALL, CALLER_PARENT, async () => [
      await ports.carrier.send(),
      await send(),
      ports.carrier.isReal(),
    ])
    expect([direct, real]).toEqual(["nothing", true])
    await tracing.close()
    const span = collector.spans.find(({ name }) => name === "carrier send")
    expect(viaPort).toBe(`00-${TRACE}-${span?.spanId}-01`)
    expect(collector.spans.map(({ name }) => name).toSorted()).toEqual(["call", "carrier send"])
  })

  it("exports an append in the trace of each caller that waits for it", async () => {
    const { tracing, collector } = await openFixture()
    const other = `00-${"1".repeat(32)}-${"2".repeat(16)}-01`
    const append = { name: "append", kind: "producer" } as const
    await tracing.sharedSpan(append, [CALLER_PARENT, other, CALLER_PARENT], async () => undefined)
    await tracing.close()
    expect(collector.spans.map(({ traceId }) => traceId).toSorted()).toEqual([
      TRACE,
      "1".repeat(32),
    ])
  })

  it("exports no span that the caller or the sampled share excludes", async () => {
    const { tracing, ports, collector } = await openFixture(0)
    const unwanted = CALLER_PARENT.replace(/01$/, "00")
    for (const parent of [unwanted, null, "no traceparent"]) {
      const observed = await tracing.span(CALL, parent, async () => [
        tracing.currentTraceParent(),
        await ports.carrier.send(),
      ])
      expect(observed).toEqual([null, "nothing"])
    }
    await tracing.close()
    expect(collector.spans).toEqual([])
  })

  it("exports the type of an error, and not its message", async () => {
    const { tracing, collector } = await openFixture()
    const fails = tracing.span(CALL, CALLER_PARENT, async () => {
      throw new TypeError(`no such number ${TO}`)
    })
    await expect(fails).rejects.toThrow(TypeError)
    await tracing.close()
    expect(JSON.stringify(collector.spans)).toContain(
      '"error.type","value":{"stringValue":"TypeError"}',
    )
    expect(JSON.stringify(collector.spans)).not.toContain(TO)
  })
})
