/** How many connections nginx makes to a process: with `start --processes` each goes to one company's process. */
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it, onTestFinished } from "vitest"
import { nginxHere, startNginx } from "../support/debian.ts"
import { ROOT } from "../tidy/tree.ts"
import { textOf } from "./files.ts"

const CALLS = 4
const KEPT = '"" "";'
const EACH_ENDS = '"" close;'

it.for([
  ["are kept by deploy/nginx", KEPT, 1],
  ["are one a call where docs/deploy.md says so", EACH_ENDS, CALLS],
] as const)("connections %s", async ([, map, expected], ctx) => {
  expect(textOf("docs/deploy.md")).toContain(`\`${EACH_ENDS}\``)
  const nginx = nginxHere()
  if ("missing" in nginx) return ctx.skip(nginx.missing)
  const folder = mkdtempSync(join(tmpdir(), "ledger-connections-"))
  let connections = 0
  const server = createServer((_request, response) => response.end("served"))
  server.on("connection", () => (connections += 1)).listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  const upstream = textOf("deploy/nginx/ledger-upstream.conf")
  expect(upstream).toContain(KEPT)
  const own = upstream
    .replace(/^ *server 127[\s\S]*?^(?= *keepalive)/m, `server 127.0.0.1:${port};\n`)
    .replace(KEPT, map)
  const locations = `include ${ROOT}/deploy/nginx/ledger-locations.conf;`
  const front = await startNginx(
    nginx.program,
    folder,
    (at) => `${own}\nserver { listen ${at}; ${locations} }`,
  )
  onTestFinished(async () => {
    await front.stop()
    server.close()
    rmSync(folder, { recursive: true, force: true })
  })
  for (let call = 0; call < CALLS; call += 1) {
    expect(await (await fetch(`${front.url}/docs`)).text()).toBe("served")
  }
  expect(connections).toBe(expected)
})
