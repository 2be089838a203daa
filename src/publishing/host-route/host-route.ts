/**
 * The host route of companies' previews. The host name alone selects it, before the API's routes, so nothing
 * published is ever served under the API's name. A visitor without a session gets the same answer at every
 * name, so names do not reveal which companies exist.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import { ledgerStreamOf } from "../../../domain/charging/aggregates.ts"
import { deletionOf } from "../../../domain/charging/deletion.ts"
import type { CompanyId, PersonId } from "../../../domain/kernel/ids.ts"
import type { LivePublish } from "../../../domain/publishing/publishing.ts"
import { BodyCutOff, BodyTooLate } from "../../frame/routes/api-call.ts"
import type { HostRoute } from "../../frame/http/host-routes.ts"
import { requestHostname } from "../../frame/http/host-routes.ts"
import { ConnectionPool } from "../../frame/http/proxy/connection-pool.ts"
import { sendNoticePage, upgradeRefusalText, endSocket } from "../../frame/http/proxy/proxy.ts"
import { isHostInDomain, subdomainOf } from "../../frame/kernel/sites.ts"
import type { Ports } from "../../frame/ports.ts"
import { tokenFromCookie } from "../../frame/sign-in/codes.ts"
import type { CompanySignIn } from "../../frame/sign-in/company-sign-in.ts"
import { openCompanySignIn } from "../../frame/sign-in/company-sign-in.ts"
import { findCompanyByLabel } from "../preview-site.ts"
import { publishingSettings } from "../settings.ts"
import type { AppVisit } from "./app.ts"
import { proxyAppUpgrade, proxyAppRequest } from "./app.ts"
import type { MemoryCache } from "./memory-cache.ts"
import { openMemoryCache } from "./memory-cache.ts"
import type { Artifact } from "../artifacts.ts"
import type { PublishReader } from "./publish-reader.ts"
import { NOTHING_LIVE, TEMPORARILY_UNAVAILABLE, NO_SUCH_PREVIEW } from "./notices.ts"
import { PREVIEW_COOKIE, SIGN_IN_PATH, emailPage, sendSignInPage } from "./sign-in-pages.ts"
import { serveSignIn } from "./sign-in-routes.ts"
import { isNavigation, serveStaticSite } from "./static-site.ts"
import type { AppStarter } from "./app-starter.ts"
import { openAppStarter } from "./app-starter.ts"

const CACHE_BYTES = 64 * 1024 * 1024
/** Approximate memory of a file in a cached manifest, without its path. */
const BYTES_PER_FILE = 300

interface PreviewContext {
  readonly ports: Ports
  readonly domain: string
  readonly published: PublishReader
  readonly signIn: CompanySignIn
  readonly cache: MemoryCache
  readonly starter: AppStarter
  readonly connections: ConnectionPool
}

interface Visitor {
  readonly companyId: CompanyId
  readonly personId: PersonId
  readonly token: string
}

/** Creates the host route. */
export function companyPreviewHostRoute(ports: Ports, published: PublishReader): HostRoute {
  const domain = ports.settings(publishingSettings).PREVIEW_DOMAIN
  const context: PreviewContext = {
    ports,
    domain,
    published,
    signIn: openCompanySignIn(ports, { purpose: "preview", displayName: "the preview" }),
    cache: openMemoryCache(CACHE_BYTES),
    starter: openAppStarter(ports),
    connections: new ConnectionPool(),
  }
  return {
    name: "company previews",
    matches: (host) => isHostInDomain(host, domain),
    serve: (request, response, { address }) => void serve(context, request, response, address),
    upgrade: (request, socket, head) => void upgrade(context, request, socket, head),
  }
}

async function serve(
  context: PreviewContext,
  request: IncomingMessage,
  response: ServerResponse,
  address: string,
): Promise<void> {
  try {
    await answer(context, request, response, address)
  } catch (error) {
    if (isDisconnect(error)) return void response.destroy()
    context.ports.log.warn("a preview could not be served", error)
    if (response.headersSent) response.destroy()
    else sendNoticePage(response, TEMPORARILY_UNAVAILABLE)
  }
}

/** Error codes of an answer or a form whose visitor left. */
const DISCONNECT_CODES = [
  "ERR_STREAM_PREMATURE_CLOSE",
  "ERR_STREAM_DESTROYED",
  "ERR_STREAM_UNABLE_TO_PIPE",
]

/** Whether the error only means that the visitor left. */
function isDisconnect(error: unknown): boolean {
  if (error instanceof BodyCutOff || error instanceof BodyTooLate) return true
  return (
    error instanceof Error && DISCONNECT_CODES.includes((error as NodeJS.ErrnoException).code ?? "")
  )
}

async function answer(
  context: PreviewContext,
  request: IncomingMessage,
  response: ServerResponse,
  address: string,
): Promise<void> {
  const label = labelAt(context, request)
  if (label === null) return sendNoticePage(response, NO_SUCH_PREVIEW)
  const { url = "/" } = request
  const visitor = await visitorAt(context, request, label)
  if (
    url === SIGN_IN_PATH ||
    url.startsWith(`${SIGN_IN_PATH}/`) ||
    url.startsWith(`${SIGN_IN_PATH}?`)
  ) {
    const companyId = visitor?.companyId ?? (await findCompanyByLabel(context.ports, label))
    const { signIn } = context
    const isSignedIn = visitor !== null
    return serveSignIn({ signIn, companyId, isSignedIn, request, response, address })
  }
  if (visitor === null) return askToSignIn(request, response)
  const live = await livePublishFor(context, visitor)
  if (live === null) return sendNoticePage(response, NOTHING_LIVE)
  if (live.kind === "app")
    return proxyAppRequest(appVisitOf(context, visitor, live), request, response)
  const artifact = await artifactOf(context, visitor.companyId, live)
  const files = artifact?.manifest.files ?? null
  if (artifact === null || files === null) return sendNoticePage(response, TEMPORARILY_UNAVAILABLE)
  return serveStaticSite({ artifact, files, cache: context.cache }, request, response)
}

async function upgrade(
  context: PreviewContext,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): Promise<void> {
  try {
    const label = labelAt(context, request)
    if (label === null) return endSocket(socket, upgradeRefusalText(404))
    const visitor = await visitorAt(context, request, label)
    if (visitor === null) return endSocket(socket, upgradeRefusalText(401))
    const live = await livePublishFor(context, visitor)
    if (live?.kind !== "app") return endSocket(socket, upgradeRefusalText(404))
    await proxyAppUpgrade(appVisitOf(context, visitor, live), request, socket, head)
  } catch (error) {
    context.ports.log.warn("a preview could not be served", error)
    endSocket(socket, upgradeRefusalText(503))
  }
}

/** The label of the host name; null if no preview can have it. */
function labelAt({ domain }: PreviewContext, request: IncomingMessage): string | null {
  const label = subdomainOf(requestHostname(request) ?? "", domain)
  return label === null || label.includes(".") ? null : label
}

/** The visitor; null if no person of the label's company is signed in. */
async function visitorAt(
  { ports, signIn }: PreviewContext,
  request: IncomingMessage,
  label: string,
): Promise<Visitor | null> {
  const token = tokenFromCookie(request.headers.cookie, PREVIEW_COOKIE)
  const companyId = token === null ? null : await findCompanyByLabel(ports, label)
  if (token === null || companyId === null) return null
  const personId = await signIn.personOf(companyId, token)
  return personId === null ? null : { companyId, personId, token }
}

/** Shows people the sign-in page; answers other requests with 401. */
function askToSignIn(request: IncomingMessage, response: ServerResponse): void {
  // HTTP requires the header; with this scheme no browser asks for a password.
  const headers = { "www-authenticate": 'Cookie realm="preview"' }
  if (isNavigation(request)) {
    return sendSignInPage(response, { ...emailPage(401, request.url ?? "/"), headers })
  }
  const rest = { "cache-control": "no-store", "x-robots-tag": "noindex", "content-length": 0 }
  response.writeHead(401, { ...headers, ...rest }).end()
}

/** The live publish; null if there is none, or the company is deleted. */
async function livePublishFor(
  { ports, published }: PreviewContext,
  { companyId }: Visitor,
): Promise<LivePublish | null> {
  if ((await ports.runner.read(ledgerStreamOf(companyId), deletionOf)) !== null) return null
  return published.livePublish(ports, companyId)
}

function appVisitOf(
  context: PreviewContext,
  visitor: Visitor,
  { publishId }: LivePublish,
): AppVisit {
  const { ports, starter, connections, published, signIn } = context
  const { companyId, personId, token } = visitor
  return {
    ports,
    starter,
    connections,
    personId,
    version: { companyId, publishId },
    artifact: () => published.openArtifact(ports, companyId, publishId),
    isAllowed: async () => (await signIn.personOf(companyId, token)) !== null,
  }
}

/** The artifact, from the cache if possible. */
async function artifactOf(
  { ports, published, cache }: PreviewContext,
  companyId: CompanyId,
  { publishId }: LivePublish,
): Promise<Artifact | null> {
  return cache.get(`artifact ${publishId}`, async () => {
    const value = await published.openArtifact(ports, companyId, publishId)
    const paths = [...(value?.manifest.files?.keys() ?? [])]
    // A missing artifact is not cached.
    const bytes = paths.reduce(
      (sum, path) => sum + 2 * path.length + BYTES_PER_FILE,
      BYTES_PER_FILE,
    )
    return { value, bytes: value === null ? Infinity : bytes }
  })
}
