/** Work with boxes for benchmarks. */
import { randomUUID } from "node:crypto"
import { Agent, request } from "node:http"
import { setTimeout as pause } from "node:timers/promises"
import type { BoxHandle } from "../../adapters/sandbox/boxhost/port.ts"
import type { Ports } from "../../src/frame/ports.ts"
import { assertMeasurement } from "../benchmark.ts"
import type { Tenant } from "./tenant.ts"

/** Port of the page in the box. */
const PORT = 8000
const SERVER = `require("http").createServer((_, answer) => answer.end("seen")).listen(${PORT})`
const POLL_INTERVAL_MS = 20

/** Starts a box without a charge, at the box host directly. */
export function startUnbilledBox({ boxHost }: Ports): Promise<BoxHandle> {
  return boxHost.start({
    boxId: `box_${randomUUID().replaceAll("-", "").slice(0, 26)}`,
    companyId: "co_bench0",
    size: "small",
    leaseMs: 600_000,
    environment: {},
  })
}

/** Serves a page in a box; returns the host name of its link. */
export async function servePage(box: BoxHandle, { call }: Tenant): Promise<string> {
  await box.spawn(`exec node -e '${SERVER}'`)
  for (;;) {
    const connection = await box.connectToPort(PORT)
    connection?.destroy()
    if (connection !== null) break
    await pause(POLL_INTERVAL_MS)
  }
  const { url } = await call("POST", `/sandboxes/${box.boxId}/previews`, { port: PORT })
  return new URL(url).host
}

/** Requests a page over a kept-alive connection. @throws InvalidMeasurement if the answer is not as expected */
export function pageGetter(
  port: number,
  host: string,
  path: string,
  cookie?: string,
): () => Promise<void> {
  const headers = { host, ...(cookie === undefined ? {} : { cookie }) }
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  return async () => {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const asked = request({ agent, host: "127.0.0.1", port, path, headers }, (answer) => {
      answer.once("end", () => {
        if (answer.statusCode === 200) resolve()
        else reject(new Error(`${host}${path} answered ${answer.statusCode}`))
      })
      answer.resume()
    })
    asked.once("error", reject)
    asked.end()
    await promise.catch((error: Error) => assertMeasurement(false, error.message))
  }
}
