/** `deploy/nginx`: its connections, its ring of processes, and its retries. */
import { once } from "node:events"
import { mkdtempSync, rmSync, readFileSync } from "node:fs"
import type { Server } from "node:http"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it, onTestFinished, afterAll, beforeAll, beforeEach, describe } from "vitest"
import type { NginxServer } from "../support/debian-programs.ts"
import {
  findCaddy,
  findFreePort,
  findNginx,
  startCaddy,
  startNginx,
} from "../support/debian-programs.ts"
import { ROOT } from "../conventions/source-tree.ts"
import { projectText } from "./project-files.ts"
import { ownerOf, ringPositionOf, ringOf } from "../../bench/scale/ring.ts"
import { PROGRAM } from "../../src/slices.ts"

const CALLS = 4
const KEEP_ALIVE = '"" "";'
const CLOSE_EACH = '"" close;'

it.for([
  ["are reused by deploy/nginx", KEEP_ALIVE, 1],
  ["are one per call with the change in docs/deploy.md", CLOSE_EACH, CALLS],
] as const)("connections %s", async ([, map, expected], ctx) => {
  expect(projectText("docs/deploy.md")).toContain(`\`${CLOSE_EACH}\``)
  const nginx = findNginx()
  if ("missing" in nginx) return ctx.skip(nginx.missing)
  const folder = mkdtempSync(join(tmpdir(), "ledger-connections-"))
  let connections = 0
  const server = createServer((_request, response) => response.end("served"))
  server.on("connection", () => (connections += 1)).listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  const upstream = projectText("deploy/nginx/ledger-upstream.conf")
  expect(upstream).toContain(KEEP_ALIVE)
  const config = upstream
    .replace(/^ *server 127[\s\S]*?^(?= *keepalive)/m, `server 127.0.0.1:${port};\n`)
    .replace(KEEP_ALIVE, map)
  const locations = `include ${ROOT}/deploy/nginx/ledger-locations.conf;`
  const front = await startNginx(
    nginx.program,
    folder,
    (at) => `${config}\nserver { listen ${at}; ${locations} }`,
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

const nginx = findNginx()
const ringFolder = mkdtempSync(join(tmpdir(), "ledger-ring-"))
const UPSTREAM = readFileSync(join(ROOT, "deploy/nginx/ledger-upstream.conf"), "utf8")
const TAGS = Array.from({ length: 60 }, (_, i) => `tag${String(i * 7919).padStart(3, "0")}`)
const ring: string[] = []
let ringFront: NginxServer

/** The shipped upstream with the processes of the ring, of which one may be gone. */
const httpOf = (address: string, gone?: string): string => {
  const servers = ring.map((one) => `server ${one} max_fails=1 fail_timeout=5s;`).join("\n")
  return [
    UPSTREAM.replace(/^ *server 127[\s\S]*?^(?= *keepalive)/m, `${servers}\n`),
    ...ring.filter((one) => one !== gone).map((one) => `server { listen ${one}; return 200; }`),
    `server { listen ${address}; location / {`,
    "proxy_pass http://company_ledger; add_header x-served-by $upstream_addr always; } }",
  ].join("\n")
}

/** The processes that nginx tried for a company's call, in order. */
async function triedFor(tag: string): Promise<readonly string[]> {
  const headers = { authorization: `Bearer cpk_${tag}_rest` }
  const { headers: answered } = await fetch(ringFront.url, { headers })
  return answered.get("x-served-by")?.split(", ") ?? []
}

const expected = (tag: string, down?: number) =>
  ring[ownerOf(ringOf(ring), ringPositionOf(tag), down)]

describe("the ring of the benchmark", () => {
  beforeEach((ctx) => ctx.skip("missing" in nginx, "missing" in nginx ? nginx.missing : ""))
  beforeAll(async () => {
    if ("missing" in nginx) return
    while (ring.length < 4) ring.push(`127.0.0.1:${await findFreePort()}`)
    ringFront = await startNginx(nginx.program, ringFolder, (address) => httpOf(address))
  })
  afterAll(async () => {
    if (!("missing" in nginx)) await ringFront.stop()
    rmSync(ringFolder, { recursive: true, force: true })
  })

  it("assigns each company to the same process as nginx", async () => {
    const owners = new Set<string>()
    for (const tag of TAGS) {
      const tried = await triedFor(tag)
      expect(tried, tag).toEqual([expected(tag)])
      owners.add(tried[0] as string)
    }
    expect(owners.size).toBe(4)
  })

  it("assigns the companies of a lost process like nginx", async () => {
    if ("missing" in nginx) return
    // After a reload, the former workers would still answer for a moment.
    await ringFront.stop()
    ringFront = await startNginx(nginx.program, ringFolder, (address) => httpOf(address, ring[0]))
    for (const tag of TAGS) expect((await triedFor(tag)).at(-1), tag).toBe(expected(tag, 0))
  })
})

const VERBS = ["GET", "PUT", "DELETE", "POST", "PATCH"] as const

/** How often each method and path arrived. */
const arrived = new Map<string, number>()

/** A server that drops the connection of the first call of each method and path. */
async function openFlakyServer(): Promise<Server> {
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      const call = `${request.method} ${request.url}`
      const times = (arrived.get(call) ?? 0) + 1
      arrived.set(call, times)
      if (times === 1 && request.url !== "/livez") request.socket.destroy()
      else response.end("served")
    })
  }).listen(0, "127.0.0.1")
  await once(server, "listening")
  return server
}

const addressOf = (server: Server): string => `127.0.0.1:${(server.address() as AddressInfo).port}`

/** A proxy in front of some addresses. */
interface Proxy {
  readonly missing?: string
  readonly start: (
    folder: string,
    addresses: readonly string[],
  ) => Promise<{ readonly url: string; readonly stop: () => Promise<void> }>
}
const caddy = findCaddy()
const proxies: Readonly<Record<string, Proxy>> = {
  nginx: {
    ...nginx,
    start: (folder, addresses) => {
      // A failed server is retried immediately, so that tests need not wait.
      const servers = addresses.map((one) => `server ${one} max_fails=0;\n`).join("")
      const upstream = projectText("deploy/nginx/ledger-upstream.conf")
        .replace(/^ *server 127[\s\S]*?^(?= *keepalive)/m, servers)
        .concat("\n")
      const locations = `include ${ROOT}/deploy/nginx/ledger-locations.conf;`
      const program = "program" in nginx ? nginx.program : ""
      return startNginx(program, folder, (at) => `${upstream}server { listen ${at}; ${locations} }`)
    },
  },
  Caddy: {
    ...caddy,
    start: async (folder, addresses) => {
      const url = `http://127.0.0.1:${await findFreePort()}`
      const file = projectText("deploy/caddy/Caddyfile").replace(
        "ledger-a:3000 ledger-b:3000",
        addresses.join(" "),
      )
      const program = "program" in caddy ? caddy.program : ""
      return {
        url,
        stop: await startCaddy(program, folder, file, await findFreePort(), { BASE_URL: url }),
      }
    },
  },
}

const call = (url: string, method: string, company: string, body?: string): Promise<Response> =>
  fetch(url, {
    method,
    headers: { authorization: `Bearer cpk_${company}_secret` },
    ...(body === undefined ? {} : { body }),
  })

describe.each(Object.entries(proxies))("%s", (name, { missing, start }) => {
  let servers: readonly Server[] = []
  let front: Awaited<ReturnType<Proxy["start"]>> | null = null
  const folder = mkdtempSync(join(tmpdir(), "ledger-repeats-"))
  beforeAll(async () => {
    if (missing !== undefined) return
    servers = [await openFlakyServer(), await openFlakyServer()]
    front = await start(folder, servers.map(addressOf))
  })
  afterAll(async () => {
    await front?.stop()
    for (const server of servers) server.close()
    rmSync(folder, { recursive: true, force: true })
  })

  it("retries the methods in docs/deploy.md", async (ctx) => {
    ctx.skip(missing !== undefined, missing)
    const statuses = new Map<string, number>()
    for (const verb of VERBS) {
      const body = verb === "GET" ? undefined : "{}"
      statuses.set(verb, (await call(`${front?.url}/${name}`, verb, "4Zb0x7", body)).status)
    }
    const repeated = VERBS.filter((verb) => arrived.get(`${verb} /${name}`) === 2)
    expect(repeated).toEqual(name === "nginx" ? ["GET", "PUT", "DELETE"] : ["GET"])
    expect(projectText("docs/deploy.md")).toContain(`${name} repeats ${listed(repeated)}`)
    for (const verb of VERBS) {
      expect(statuses.get(verb), verb).toBe(repeated.includes(verb) ? 200 : 502)
    }
  })

  it("sends a call to another process if one refuses the connection", async (ctx) => {
    ctx.skip(missing !== undefined, missing)
    const [gone] = servers as [Server]
    gone.close()
    gone.closeAllConnections()
    // Debian's Caddy has consumed the body by then; that of compose.yaml has not (Caddy's issue 7546).
    const body = name === "nginx" ? "{}" : undefined
    for (const company of ["a1", "b2", "c3", "d4", "e5", "f6"]) {
      const path = `/${name}/${company}`
      for (const verb of ["GET", "POST"]) arrived.set(`${verb} ${path}`, 1)
      // A proxy may not know yet that a reused connection ended. A GET finds out, because it may be retried.
      expect((await call(`${front?.url}${path}`, "GET", company)).status).toBe(200)
      expect((await call(`${front?.url}${path}`, "POST", company, body)).status).toBe(200)
      expect(arrived.get(`POST ${path}`)).toBe(2)
    }
  })
})

/** `a, b and c`. */
const listed = (verbs: readonly string[]): string => verbs.join(", ").replace(/, (\w+)$/, " and $1")

it("no paid route has a method that a proxy retries", () => {
  const paid = PROGRAM.routes.filter((one) => "isCharged" in one || "permanentIdempotency" in one)
  expect(paid.length).toBeGreaterThan(5)
  expect(new Set(paid.map(({ method }) => method))).toEqual(new Set(["POST"]))
})
