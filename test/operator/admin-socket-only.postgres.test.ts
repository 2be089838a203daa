/** Operator routes are served only on the admin socket. */
import { expect, it, onTestFinished } from "vitest"
import { buildInstallationApp } from "../../src/bootstrap/open/app.ts"
import { readConfig } from "../../src/bootstrap/settings/config.ts"
import { SERVER_URL, operationEventsUrl, operationUrl } from "../../src/frame/operator/protocol.ts"
import { PROGRAM } from "../../src/slices.ts"
import { sharedWorld } from "../support/world.ts"
import { serveOperations } from "./fake-server.ts"

const world = await sharedWorld()
const paths = [
  ["GET", SERVER_URL],
  ["GET", operationEventsUrl("work")],
  ...PROGRAM.operations.map(({ name }) => ["POST", operationUrl(name)]),
] as const

it("serves operator routes without opening a TCP port", async () => {
  const ports = () => process.getActiveResourcesInfo().filter((name) => name === "TCPServerWrap")
  const before = ports()
  await serveOperations(PROGRAM.operations)
  expect(ports()).toEqual(before)
})

it("answers 404 for every operator route on the API server", async () => {
  const app = await buildInstallationApp(world.ports, readConfig({ RATE_LIMITS: "off" }))
  onTestFinished(() => app.close())
  const url = await app.listen({ host: "127.0.0.1", port: 0 })
  for (const [method, path] of paths) {
    const headers = { "content-type": "application/json" }
    const sent = method === "POST" ? { method, headers, body: "{}" } : { method }
    const answer = await fetch(`${url}${path}?actor=ada`, sent)
    expect([path, answer.status]).toEqual([path, 404])
  }
})
