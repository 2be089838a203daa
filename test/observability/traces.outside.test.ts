/** Traces: one from a call over its append and the work that follows to the provider. */
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

/** A span as it was sent. */
interface SentSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly attributes: readonly Attribute[]
}

interface Sent {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly { readonly spans: readonly SentSpan[] }[]
  }[]
}

/** One that is running. */
interface Collector {
  readonly url: string
  readonly spans: readonly SentSpan[]
  readonly close: () => Promise<void>
}

/** Starts one. */
async function startCollector(): Promise<Collector> {
  const spans: SentSpan[] = []
  const server = createServer((request, response) => {
    void json(request).then((body) => {
      const { resourceSpans } = body as Sent
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
const FROM = `00-${TRACE}-${CALLER}-01`
const TO = "+14155550123"

/** What spans may carry: names of few words, counts, and ids that say nothing of a person. */
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

/** The sources: each module of theirs is a file that coverage names. */
const SOURCES = join(import.meta.dirname, "../../src/main.ts")

/** A server with a company, that says by its coverage which modules it loaded. */
async function serve(settings: Record<string, string>) {
  const folder = await mkdtemp(join(tmpdir(), "ledger-loaded-"))
  const place = await makeDataFolder({ NODE_V8_COVERAGE: folder, ...settings }, SOURCES)
  onTestFinished(async () => {
    await place.removeFiles()
    await rm(folder, { recursive: true })
  })
  const server = await place.start()
  const { key } = await makeCompany(place, { ownerName: "Ada Example" })
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
  it("tells of a call, its append, the work and the provider in its caller's trace", async () => {
    const collector = await startCollector()
    onTestFinished(() => collector.close())
    const { key, send, loaded } = await serve({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url })
    await send({ traceparent: FROM })
    const own = () => collector.spans.filter(({ traceId }) => traceId === TRACE)
    const named = (name: string) => own().find((span) => span.name === name)
    await expect.poll(() => named("carrier send")).toBeDefined()
    await expect.poll(() => named("job send-text")).toBeDefined()
    const call = named("POST /api/v1/phone/messages")
    expect(call).toMatchObject({ parentSpanId: CALLER })
    const appends = own().filter((span) => span.name === "append")
    expect(appends.map(({ parentSpanId }) => parentSpanId)).toContain(call?.spanId)
    const work = named("job send-text")
    expect(work).toMatchObject({ parentSpanId: call?.spanId })
    expect(named("carrier send")).toMatchObject({ parentSpanId: work?.spanId })
    const told = JSON.stringify(collector.spans)
    expect(told).toContain('"ledger.charge.id"')
    for (const secret of [TO, TO.slice(1), "private words", key, "Ada", "per_", "key_"]) {
      expect(told).not.toContain(secret)
    }
    const keys = collector.spans.flatMap(({ attributes }) => attributes.map((one) => one.key))
    expect(KEYS).toEqual(expect.arrayContaining([...new Set(keys)]))
    expect(await loaded()).toContain("sdk-trace")
  })

  it("loads nothing of OpenTelemetry where no setting names a collector", async () => {
    const { send, loaded } = await serve({})
    await send({ traceparent: FROM })
    // Its types of constants alone, which the metrics' package brings.
    expect(await loaded()).toEqual(["api"])
  })
})

describe("no tracing", () => {
  it("leaves what is asked outside as it is, and nothing to follow", () => {
    const ports = { carrier: { asked: async () => "nothing" } }
    expect(withTracing(ports, NO_TRACING)).toBe(ports)
    expect(NO_TRACING.currentTraceParent()).toBeNull()
  })
})

describe("tracing", () => {
  /** One that tells a collector, and a provider's server that answers with what it was sent. */
  async function opened(sampleRatio = 1) {
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
    const asked = async () => (await fetch(url)).text()
    return {
      collector,
      tracing,
      ports: withTracing({ carrier: { asked, isReal: () => true } }, tracing),
      asked,
    }
  }

  const CALL = { name: "call", kind: "server" } as const

  it("tells providers of the trace in which they are asked, and nobody else", async () => {
    const { tracing, ports, asked, collector } = await opened()
    expect(await ports.carrier.asked()).toBe("nothing")
    const [told, untold, real] = await tracing.span(CALL, FROM, async () => [
      await ports.carrier.asked(),
      await asked(),
      ports.carrier.isReal(),
    ])
    expect([untold, real]).toEqual(["nothing", true])
    await tracing.close()
    const span = collector.spans.find(({ name }) => name === "carrier asked")
    expect(told).toBe(`00-${TRACE}-${span?.spanId}-01`)
    expect(collector.spans.map(({ name }) => name).toSorted()).toEqual(["call", "carrier asked"])
  })

  it("tells of an append in the trace of each who waits for it", async () => {
    const { tracing, collector } = await opened()
    const other = `00-${"1".repeat(32)}-${"2".repeat(16)}-01`
    const append = { name: "append", kind: "producer" } as const
    await tracing.sharedSpan(append, [FROM, other, FROM], async () => undefined)
    await tracing.close()
    expect(collector.spans.map(({ traceId }) => traceId).toSorted()).toEqual([
      TRACE,
      "1".repeat(32),
    ])
  })

  it("tells of nothing that its caller, or the share, leaves out", async () => {
    const { tracing, ports, collector } = await opened(0)
    const unwanted = FROM.replace(/01$/, "00")
    for (const parent of [unwanted, null, "no traceparent"]) {
      const told = await tracing.span(CALL, parent, async () => [
        tracing.currentTraceParent(),
        await ports.carrier.asked(),
      ])
      expect(told).toEqual([null, "nothing"])
    }
    await tracing.close()
    expect(collector.spans).toEqual([])
  })

  it("names what went wrong, and says nothing of it", async () => {
    const { tracing, collector } = await opened()
    const fails = tracing.span(CALL, FROM, async () => {
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
