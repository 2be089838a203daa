/** Run in a process of its own on the same cores: calls over HTTP with kept-alive connections. */
import type { Socket } from "node:net"
import { performance } from "node:perf_hooks"
import type { HttpLoadResult, HttpLoad } from "./http-load.ts"
import { connectTo, phoneNumberAt, openHttpExchange } from "./http-exchange.ts"

/** Number of calls by this process, so that each texts another number and has another name. */
let calls = 0

process.on("message", (asking: HttpLoad) => {
  void ask(asking).then((answers) => process.send?.(answers))
})

async function ask(asking: HttpLoad): Promise<HttpLoadResult> {
  const { port, connections, forMs } = asking
  const sockets = await Promise.all(
    Array.from({ length: connections }, () => connectTo("127.0.0.1", port)),
  )
  const statuses: Record<number, number> = {}
  const ids: string[] = []
  const begun = performance.now()
  const caller = async (socket: Socket): Promise<void> => {
    const exchange = openHttpExchange(socket)
    while (performance.now() - begun < forMs) {
      const { status, body } = await exchange(requestOf(asking))
      statuses[status] = (statuses[status] ?? 0) + 1
      const id = asking.isTexting === true ? /"id":"(\w+)"/.exec(body)?.[1] : undefined
      if (status === 200 && id !== undefined) ids.push(id)
    }
  }
  await Promise.all(sockets.map(caller))
  const perSecond = ((statuses[200] ?? 0) * 1_000) / (performance.now() - begun)
  for (const socket of sockets) socket.destroy()
  return { statuses, perSecond, ids }
}

function requestOf(asking: HttpLoad): string {
  const {
    method,
    path,
    keys,
    host = "127.0.0.1",
    cookie,
    isTexting = false,
    hasIdempotencyKeys = false,
  } = asking
  const own = calls
  calls += 1
  const body = isTexting
    ? JSON.stringify({ to: phoneNumberAt(own), body: `Text ${own} of many.` })
    : ""
  return [
    `${method} ${path} HTTP/1.1`,
    `host: ${host}`,
    ...(keys.length > 0 ? [`authorization: Bearer ${keys[own % keys.length]}`] : []),
    ...(cookie === undefined ? [] : [`cookie: ${cookie}`]),
    ...(hasIdempotencyKeys ? [`idempotency-key: call-${own}`] : []),
    ...(isTexting ? ["content-type: application/json", `content-length: ${body.length}`] : []),
    "",
    body,
  ].join("\r\n")
}
