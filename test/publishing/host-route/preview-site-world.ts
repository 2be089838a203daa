/** A world that listens, whose previews tests visit; publishes and the preview host are fakes. */
import { createHash, randomBytes } from "node:crypto"
import type { Socket } from "node:net"
import { afterAll, expect } from "vitest"
import type { Blob } from "../../../adapters/postgres/blobs/port.ts"
import { CHUNK_BYTES } from "../../../adapters/postgres/blobs/port.ts"
import type { Pacer } from "../../../adapters/machine/clock/port.ts"
import type { SystemMail, Mailer } from "../../../adapters/providers/mailer/port.ts"
import type {
  AppStartPlan,
  AppVersionStatus,
  PreviewHost,
  Recipe,
} from "../../../adapters/sandbox/preview-host/port.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { PublishId } from "../../../domain/publishing/ids.ts"
import type { LivePublish } from "../../../domain/publishing/publishing.ts"
import { buildApp } from "../../../src/frame/http/app.ts"
import { newId } from "../../../src/frame/kernel/ids.ts"
import type { Ports } from "../../../src/frame/ports.ts"
import { previewSiteOf } from "../../../src/publishing/preview-site.ts"
import { companyPreviewHostRoute } from "../../../src/publishing/host-route/host-route.ts"
import type { Artifact } from "../../../src/publishing/artifacts.ts"
import type { ArtifactFile } from "../../../src/publishing/artifacts.ts"
import { PROGRAM } from "../../../src/slices.ts"
import type { VisitOptions, VisitResponse } from "../../boxes/preview-world.ts"
import { openListeners, newVisitor } from "../../boxes/preview-world.ts"
import { ensureListening } from "../../code/code-world.ts"
import type { World } from "../../support/world.ts"
import { makeCompany, openWorld, freezeRateWindow } from "../../support/world.ts"

export const PREVIEW_COOKIE_NAME = "__Host-preview"

/** A world with a company's preview and a visitor. */
export type PreviewSiteWorld = Awaited<ReturnType<typeof openPreviewSiteWorld>>

/** Opens a preview site world. */
export async function openPreviewSiteWorld(settings: Record<string, string> = {}) {
  const world = await openWorld("settings", { settings: { RATE_LIMITS: "off", ...settings } })
  const hosting = openFakeHost()
  const mailbox = openMailbox(world.ports.mailer)
  const { ports, warnings, hurry } = portsOf(world, hosting.port, mailbox.mailer)
  if (settings["RATE_LIMITS"] === "on") freezeRateWindow({ ports })
  const live = new Map<CompanyId, LivePublish>()
  const artifacts = new Map<PublishId, Artifact>()
  /** How often artifacts were read, and after how many bytes of a file a read fails. */
  const reads = { count: 0, tornAfter: Infinity }
  const hostRoute = companyPreviewHostRoute(ports, {
    livePublish: async (_ports, companyId) => live.get(companyId) ?? null,
    openArtifact: async (_ports, _companyId, publishId) => artifacts.get(publishId) ?? null,
  })
  const app = await buildApp(ports, PROGRAM.entries, PROGRAM.retiredPaths, {
    rateLimits: "off",
    hostRoutes: [hostRoute],
    ownHost: "ledger.test",
  })
  const company = await makeCompany(world)
  /** The host name of the company's preview. */
  const { host } = await previewSiteOf(ports, company.companyId)
  const { startRequest, visit, sendRaw } = newVisitor(
    Number(new URL(await ensureListening({ app })).port),
  )
  const publish = (kind: "app" | "static", artifact: Artifact, companyId: CompanyId): PublishId => {
    const publishId = newId("pub")
    artifacts.set(publishId, artifact)
    live.set(companyId, { publishId, kind })
    return publishId
  }
  const publishApp = () => publish("app", APP, company.companyId)
  /** Signs in like a browser; returns the cookie. */
  const signIn = (email = "owner@example.com", onHost = host) =>
    signInAt(visit, mailbox, email, onHost)
  const cookie = await signIn()
  return {
    world,
    ports,
    warnings,
    company,
    host,
    hosting,
    reads,
    startRequest,
    visit,
    sendRaw,
    signIn,
    publishApp,
    /** The cookie of the company's owner. */
    cookie,
    /** Ends all long pauses immediately, from now on. */
    hurry,
    /** The code of the n-th mail to an address, once it is sent. */
    codeTo: mailbox.codeTo,
    /** Makes a static site live; returns its publish. */
    publishSite: (
      files: Readonly<Record<string, string | Buffer>>,
      fallback: string | null = null,
      companyId = company.companyId,
    ) => publish("static", siteOf(files, fallback, reads), companyId),
    /** Makes an app live that runs and listens with this handler. */
    runApp: async (handle: (socket: Socket) => void) => {
      const publishId = publishApp()
      await hosting.listen(publishId, handle)
      hosting.standings.set(publishId, "running")
      return publishId
    },
    /** Visits a path as the company's owner. */
    see: (path: string, { headers, ...rest }: VisitOptions = {}) =>
      visit(host, { path, headers: { cookie, ...headers }, ...rest }),
    close: async () => {
      hosting.close()
      await app.close()
      await world.close()
    },
  }
}

/** Opens a preview site world for the calling file, at its top level. */
export async function ownPreviewSiteWorld(): Promise<PreviewSiteWorld> {
  const at = await openPreviewSiteWorld()
  afterAll(at.close)
  return at
}

/** A fake preview host: tests decide whether apps start, their status, and what listens. */
function openFakeHost() {
  const { listen, dial, close } = openListeners<PublishId>()
  const standings = new Map<PublishId, AppVersionStatus["status"]>()
  const started: AppStartPlan[] = []
  const none = async () => undefined
  const hosting = {
    started,
    standings,
    listen,
    close,
    /** Called before a version runs; the start fails if it throws. */
    beforeStart: none as (plan: AppStartPlan) => Promise<void>,
  }
  const port: PreviewHost = {
    hostId: "here",
    canBuild: async () => true,
    build: async () => ({ ok: false, log: Buffer.alloc(0), reason: "nothing is built here" }),
    start: async (plan) => {
      started.push(plan)
      await hosting.beforeStart(plan)
      standings.set(plan.publishId, "running")
      return ""
    },
    connect: async ({ publishId }) =>
      standings.get(publishId) === "running" ? dial(publishId) : null,
    readStatus: async () => ({
      versions: [...standings].map(([publishId, status]) => ({ publishId, status, log: "" })),
      activities: 0,
      leaseLeftMs: 60_000,
    }),
    extend: none,
    removeVersion: none,
    sleep: none,
    erase: none,
    measureBytes: async () => null,
    listRunning: async () => [],
  }
  return Object.assign(hosting, { port })
}

/** The world's ports with the fakes, the warnings of the host route, and a function that ends long pauses. */
function portsOf(world: World, previewHost: PreviewHost, mailer: Mailer) {
  const warnings: string[] = []
  const warn = (message: string, error: unknown) =>
    void warnings.push(`${message}: ${String(error)}`)
  const log = { ...world.ports.log, warn }
  const { pacer, hurry } = openSkippablePacer(world.ports.pacer)
  const ports: Ports = { ...world.ports, log, pacer, previewHost, mailer }
  return { ports, warnings, hurry }
}

async function signInAt(
  visit: ReturnType<typeof newVisitor>["visit"],
  mailbox: ReturnType<typeof openMailbox>,
  email: string,
  host: string,
): Promise<string> {
  const before = mailbox.count(email)
  const form = formRequestAt(host)
  const codeRequested = await visit(host, form("/.preview/code", { email }))
  expect(codeRequested.status).toBe(303)
  const code = await mailbox.codeTo(email, before + 1)
  const entered = await visit(host, form("/.preview/enter", { code }, cookieSetBy(codeRequested)))
  expect(entered.status).toBe(303)
  return cookieSetBy(entered)
}

/** A form submission from a page of the host. */
export const formRequestAt =
  (host: string) =>
  (path: string, values: Readonly<Record<string, string>>, cookie = ""): VisitOptions => ({
    method: "POST",
    path,
    body: new URLSearchParams(values).toString(),
    headers: {
      origin: `http://${host}`,
      "content-type": "application/x-www-form-urlencoded",
      ...(cookie === "" ? {} : { cookie }),
    },
  })

/** The cookie that an answer sets, in the format of the `cookie` header. */
export function cookieSetBy({ headers }: VisitResponse): string {
  const [cookie = ""] = headers["set-cookie"] ?? []
  expect(cookie).toMatch(
    /^__Host-preview=[\w-]{43}; Max-Age=\d+; Path=\/; Secure; HttpOnly; SameSite=Lax$/,
  )
  return cookie.split(";", 1)[0] ?? ""
}

/** A pacer whose pauses over half a minute end when a test calls `hurry`. */
function openSkippablePacer(given: Pacer): { readonly pacer: Pacer; readonly hurry: () => void } {
  const hurried = new AbortController()
  const pause: Pacer["pause"] = async (ms, signal) => {
    if (ms < 30_000) return given.pause(ms, signal)
    const signals = [hurried.signal, ...(signal === undefined ? [] : [signal])]
    await given.pause(ms, AbortSignal.any(signals))
    // A loop of skipped pauses must still let other code run.
    await given.pause(0)
  }
  return { pacer: { ...given, pause }, hurry: () => hurried.abort() }
}

function openMailbox(mailer: Mailer) {
  const { sendSystemMail } = mailer
  const mails: SystemMail[] = []
  let arrived = Promise.withResolvers<null>()
  const to = (email: string) =>
    mails.filter(({ recipients }) => recipients.some(({ address }) => address === email))
  return {
    mailer: {
      ...mailer,
      sendSystemMail: async (mail: SystemMail) => {
        const answer = await sendSystemMail(mail)
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
  reads: { count: number; readonly tornAfter: number },
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

function blobOf(bytes: Buffer, reads: Parameters<typeof siteOf>[2]): Blob {
  return {
    length: bytes.length,
    versionId: randomBytes(8).toString("hex"),
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
