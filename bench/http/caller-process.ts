/** Run in a process of its own, on the same cores: calls over HTTP with connections that are kept. */
import type { Socket } from "node:net"
import { performance } from "node:perf_hooks"
import type { Answers, Asking } from "./asking.ts"
import { connectTo, numberOf, openExchange } from "./exchange.ts"

/** How many calls were made by this process: no two text the same number or have the same name. */
let calls = 0

process.on("message", (asking: Asking) => {
  void ask(asking).then((answers) => process.send?.(answers))
})

async function ask(asking: Asking): Promise<Answers> {
  const { port, connections, forMs } = asking
  const sockets = await Promise.all(
    Array.from({ length: connections }, () => connectTo("127.0.0.1", port)),
  )
  const statuses: Record<number, number> = {}
  const ids: string[] = []
  const begun = performance.now()
  const caller = async (socket: Socket): Promise<void> => {
    const exchange = openExchange(socket)
    while (performance.now() - begun < forMs) {
      const { status, body } = await exchange(requestOf(asking))
      statuses[status] = (statuses[status] ?? 0) + 1
      const id = asking.texts === true ? /"id":"(\w+)"/.exec(body)?.[1] : undefined
      if (status === 200 && id !== undefined) ids.push(id)
    }
  }
  await Promise.all(sockets.map(caller))
  const perSecond = ((statuses[200] ?? 0) * 1_000) / (performance.now() - begun)
  for (const socket of sockets) socket.destroy()
  return { statuses, perSecond, ids }
}

function requestOf(asking: Asking): string {
  const { method, path, keys, host = "127.0.0.1", cookie, texts = false, named = false } = asking
  const own = calls
  calls += 1
  const body = texts ? JSON.stringify({ to: numberOf(own), body: `Text ${own} of many.` }) : ""
  return [
    `${method} ${path} HTTP/1.1`,
    `host: ${host}`,
    ...(keys.length > 0 ? [`authorization: Bearer ${keys[own % keys.length]}`] : []),
    ...(cookie === undefined ? [] : [`cookie: ${cookie}`]),
    ...(named ? [`idempotency-key: call-${own}`] : []),
    ...(texts ? ["content-type: application/json", `content-length: ${body.length}`] : []),
    "",
    body,
  ].join("\r\n")
}
