/** A collector of traces, as far as tests need one: what is sent to it by OTLP as JSON. */
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { json } from "node:stream/consumers"

interface Attribute {
  readonly key: string
  readonly value: { readonly stringValue?: string; readonly intValue?: number }
}

/** A span as it was sent. */
export interface SentSpan {
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
export interface Collector {
  readonly url: string
  readonly spans: readonly SentSpan[]
  readonly close: () => Promise<void>
}

/** Starts one. */
export async function startCollector(): Promise<Collector> {
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
