/** A world whose previews are visited over a server that listens; publishes and their host are the test's. */
import { createHash, randomBytes } from "node:crypto"
import { once } from "node:events"
import type { IncomingMessage } from "node:http"
import { request } from "node:http"
import type { AddressInfo, Socket } from "node:net"
import { connect } from "node:net"
import type { FastifyInstance } from "fastify"
import { expect } from "vitest"
import type { Blob } from "../../../adapters/blobs/port.ts"
import { CHUNK_BYTES } from "../../../adapters/blobs/port.ts"
import type { Recipe } from "../../../adapters/providers/preview-host/port.ts"
import type { Pacer } from "../../../adapters/clock/port.ts"
import type { Mail, Mailer } from "../../../adapters/providers/mailer/port.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { PublishId } from "../../../domain/publishing/ids.ts"
import type { LivePublish } from "../../../domain/publishing/live.ts"
import { buildApp } from "../../../src/frame/http/app.ts"
import { newId } from "../../../src/frame/kernel/ids.ts"
import type { Ports } from "../../../src/frame/ports.ts"
import { addressOf } from "../../../src/publishing/address.ts"
import { previewDoor } from "../../../src/publishing/door/door.ts"
import type { Artifact } from "../../../src/publishing/door/live.ts"
import type { ArtifactFile } from "../../../src/publishing/manifest.ts"
import { PROGRAM } from "../../../src/slices.ts"
import type { Visit, Visited } from "../../boxes/preview-world.ts"
import { textOf } from "../../boxes/preview-world.ts"
import type { FakeHost } from "./fake-host.ts"
import { openFakeHost } from "./fake-host.ts"
import type { Company, World } from "../../support/world.ts"
import { makeCompany, openWorld } from "../../support/world.ts"

/** The name of the house's cookie. */
export const COOKIE = "__Host-preview"

/** How artifacts are read. */
interface Reads {
  count: number
  tornAfter: number
}

/** One. */
export interface DoorWorld {
  readonly world: World
  readonly ports: Ports
  /** What the door warned of. */
  readonly warnings: readonly string[]
  readonly app: FastifyInstance
  readonly company: Company
  /** The host name of the company's preview. */
  readonly host: string
  readonly hosting: FakeHost
  readonly live: Map<CompanyId, LivePublish>
  /** How often the content of an artifact was read. */
  readonly reads: Reads
  /** Has what is read of artifacts break off after so many bytes of a file. */
  readonly tear: (after: number) => void
  /** From now on whatever is waited for is over at once. */
  readonly hurry: () => void
  /** Makes a static site live; answers its publish. */
  readonly publishSite: (
    files: Readonly<Record<string, string | Buffer>>,
    fallback?: string | null,
    companyId?: CompanyId,
  ) => PublishId
  /** Makes an app live. */
  readonly publishApp: (companyId?: CompanyId) => PublishId
  /** Makes an app live that runs, and listens so. */
  readonly runApp: (handle: (socket: Socket) => void) => Promise<PublishId>
  /** Begins a request; its body is the caller's to send. */
  readonly begin: (host: string, visit?: Visit) => ReturnType<typeof request>
  readonly visit: (host: string, visit?: Visit) => Promise<Visited>
  /** A request of the company's owner. */
  readonly see: (path: string, visit?: Visit) => Promise<Visited>
  /** A connection that says something else than HTTP's clients do. */
  readonly say: (bytes: string) => Socket
  /** The code of a mail to an address, once there are so many. */
  readonly codeTo: (email: string, count?: number) => Promise<string>
  /** Signs in as browsers do; answers the cookie. */
  readonly signIn: (email?: string, host?: string) => Promise<string>
  /** The cookie of the company's owner. */
  readonly cookie: string
  readonly close: () => Promise<void>
}

/** Opens one. */
export async function openDoorWorld(settings: Record<string, string> = {}): Promise<DoorWorld> {
  const world = await openWorld("settings", { settings: { RATE_LIMITS: "off", ...settings } })
  const hosting = openFakeHost()
  const mailed = openMailbox(world.ports.mailer)
  const warnings: string[] = []
  const warn = (message: string, error: unknown) => void warnings.push(`${message}: ${error}`)
  const log = { ...world.ports.log, warn }
  const { pacer, hurry } = openHurriedPacer(world.ports.pacer)
  const ports: Ports = {
    ...world.ports,
    log,
    pacer,
    previewHost: hosting.port,
    mailer: mailed.mailer,
  }
  const live = new Map<CompanyId, LivePublish>()
  const artifacts = new Map<PublishId, Artifact>()
  const reads: Reads = { count: 0, tornAfter: Infinity }
  const door = previewDoor(ports, {
    livePublish: async (_ports, companyId) => live.get(companyId) ?? null,
    openArtifact: async (_ports, _companyId, publishId) => artifacts.get(publishId) ?? null,
  })
  const app = await buildApp(ports, PROGRAM.entries, PROGRAM.retired, {
    rateLimits: "off",
    doors: [door],
    ownHost: "ledger.test",
  })
  await app.listen({ host: "127.0.0.1", port: 0 })
  const { port: server } = app.server.address() as AddressInfo
  const company = await makeCompany(world)
  const { host } = await addressOf(ports, company.companyId)
  const { begin, visit } = visitor(server)
  const publish = (kind: "app" | "static", artifact: Artifact, companyId: CompanyId): PublishId => {
    const publishId = newId("pub")
    artifacts.set(publishId, artifact)
    live.set(companyId, { publishId, kind })
    return publishId
  }
  const one: Omit<DoorWorld, "cookie"> = {
    world,
    ports,
    warnings,
    hurry,
    app,
    company,
    host,
    hosting,
    live,
    reads,
    begin,
    visit,
    publishSite: (files, fallback = null, companyId = company.companyId) =>
      publish("static", siteOf(files, fallback, reads), companyId),
    publishApp: (companyId = company.companyId) => publish("app", APP, companyId),
    runApp: async (handle) => {
      const publishId = one.publishApp()
      await hosting.listen(publishId, handle)
      hosting.standings.set(publishId, "running")
      return publishId
    },
    see: (path, { headers, ...rest } = {}) =>
      visit(host, { path, headers: { cookie: opened.cookie, ...headers }, ...rest }),
    say: (bytes) => {
      const socket = connect(server, "127.0.0.1")
      socket.write(bytes, "latin1")
      return socket
    },
    tear: (after) => (reads.tornAfter = after),
    codeTo: mailed.codeTo,
    signIn: (email = "owner@example.com", at = host) => signedIn(visit, mailed, email, at),
    close: async () => {
      hosting.close()
      await app.close()
      await world.close()
    },
  }
  const opened = { ...one, cookie: "" }
  opened.cookie = await one.signIn()
  return opened
}

async function signedIn(
  visit: DoorWorld["visit"],
  mailed: ReturnType<typeof openMailbox>,
  email: string,
  host: string,
): Promise<string> {
  const before = mailed.count(email)
  const form = formAt(host)
  const asked = await visit(host, form("/.preview/code", { email }))
  expect(asked.status).toBe(303)
  const code = await mailed.codeTo(email, before + 1)
  const entered = await visit(host, form("/.preview/enter", { code }, cookieOf(asked)))
  expect(entered.status).toBe(303)
  return cookieOf(entered)
}

/** What a form is sent as, from a page of the host. */
export const formAt =
  (host: string) =>
  (path: string, values: Readonly<Record<string, string>>, cookie = ""): Visit => ({
    method: "POST",
    path,
    body: new URLSearchParams(values).toString(),
    headers: {
      origin: `http://${host}`,
      "content-type": "application/x-www-form-urlencoded",
      ...(cookie === "" ? {} : { cookie }),
    },
  })

/** The cookie that an answer sets, as it is sent again. */
export function cookieOf({ headers }: Visited): string {
  const [cookie = ""] = headers["set-cookie"] ?? []
  expect(cookie).toMatch(
    /^__Host-preview=[\w-]{43}; Max-Age=\d+; Path=\/; Secure; HttpOnly; SameSite=Lax$/,
  )
  return cookie.split(";", 1)[0] ?? ""
}

/** Visits hosts of a server that listens at a port. */
export function visitor(server: number): Pick<DoorWorld, "begin" | "visit"> {
  const begin: DoorWorld["begin"] = (host, { method = "GET", path = "/", headers } = {}) =>
    request({
      host: "127.0.0.1",
      port: server,
      method,
      path,
      agent: false,
      headers: { host, ...headers },
    })
  return {
    begin,
    visit: async (host, visit = {}) => {
      const asked = begin(host, visit)
      asked.end(visit.body)
      const [answer] = (await once(asked, "response")) as [IncomingMessage]
      const body = await textOf(answer)
      return { status: answer.statusCode ?? 0, headers: answer.headers, body }
    },
  }
}

/** A pacer whose pauses of longer than half a minute end when a test says so. */
function openHurriedPacer(given: Pacer): { readonly pacer: Pacer; readonly hurry: () => void } {
  const hurried = new AbortController()
  const pause: Pacer["pause"] = async (ms, signal) => {
    if (ms < 30_000) return given.pause(ms, signal)
    const signals = [hurried.signal, ...(signal === undefined ? [] : [signal])]
    await given.pause(ms, AbortSignal.any(signals))
    // What is done again and again lets others do something between.
    await given.pause(0)
  }
  return { pacer: { ...given, pause }, hurry: () => hurried.abort() }
}

/** A mailer whose mails are waited for. */
function openMailbox(mailer: Mailer) {
  const { send } = mailer
  const mails: Mail[] = []
  let arrived = Promise.withResolvers<null>()
  const to = (email: string) =>
    mails.filter(({ recipients }) => recipients.some(({ address }) => address === email))
  return {
    mailer: {
      ...mailer,
      send: async (mail: Mail) => {
        const answer = await send(mail)
        mails.push(mail)
        arrived.resolve(null)
        arrived = Promise.withResolvers()
        return answer
      },
    },
    count: (email: string) => to(email).length,
    codeTo: async (email: string, count = 1) => {
      while (to(email).length < count) await arrived.promise
      return (to(email)[count - 1]?.subject ?? "").slice(0, 6)
    },
  }
}

const RECIPE: Omit<Recipe, "serves"> = { root: ".", install: null, build: null, env: {} }

const APP: Artifact = {
  manifest: {
    recipe: {
      ...RECIPE,
      serves: { kind: "app", start: "node server.js", release: null, health: "/" },
    },
    files: null,
  },
  content: blobOf(Buffer.from("a tar archive"), { count: 0, tornAfter: Infinity }),
}

/** The artifact of a static site. */
function siteOf(
  given: Readonly<Record<string, string | Buffer>>,
  fallback: string | null,
  reads: Reads,
): Artifact {
  const files = new Map<string, ArtifactFile>()
  const pieces: Buffer[] = []
  let from = 0
  for (const [path, text] of Object.entries(given)) {
    const bytes = Buffer.from(text)
    const hash = createHash("sha256").update(bytes).digest("hex")
    files.set(path, { from, size: bytes.length, hash })
    pieces.push(bytes)
    from += bytes.length
  }
  const serves = { kind: "static", folder: "dist", fallback } as const
  const manifest = { recipe: { ...RECIPE, serves }, files }
  return { manifest, content: blobOf(Buffer.concat(pieces), reads) }
}

function blobOf(bytes: Buffer, reads: Reads): Blob {
  return {
    length: bytes.length,
    edition: randomBytes(8).toString("hex"),
    read: async function* ({ from, until } = { from: 0, until: bytes.length }) {
      if (from >= until || until > bytes.length) throw new RangeError("there are no such bytes")
      reads.count += 1
      for (let at = from; at < until; at += CHUNK_BYTES) {
        if (at - from >= reads.tornAfter) throw new Error("the blob is torn")
        yield bytes.subarray(at, Math.min(at + CHUNK_BYTES, until))
      }
    },
  }
}
