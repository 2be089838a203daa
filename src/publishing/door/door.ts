/**
 * The door of companies' previews: the host name alone leads here, before the API is looked at, so nothing
 * that a company publishes is ever served under the API's name. Who is not signed in gets the same answer at
 * every name, whether it is a company's, is published at, or neither: nobody finds out who is here.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import { ledgerOf } from "../../../domain/charging/aggregates.ts"
import { deletionOf } from "../../../domain/charging/deletion.ts"
import type { CompanyId, PersonId } from "../../../domain/kernel/ids.ts"
import type { LivePublish } from "../../../domain/publishing/publishing.ts"
import { BodyCutOff, BodyTooLate } from "../../frame/routes/call.ts"
import type { Door } from "../../frame/http/hosts.ts"
import { hostOf } from "../../frame/http/hosts.ts"
import { KeptConnections } from "../../frame/http/passing/kept.ts"
import { noticePage, refusalOf, endOf } from "../../frame/http/passing/pass.ts"
import { isWithin, labelIn } from "../../frame/kernel/sites.ts"
import type { Ports } from "../../frame/ports.ts"
import { tokenIn } from "../../frame/sign-in/codes.ts"
import type { SignIn } from "../../frame/sign-in/sign-in.ts"
import { openSignIn } from "../../frame/sign-in/sign-in.ts"
import { companyAt } from "../address.ts"
import { publishingSettings } from "../settings.ts"
import type { AppVisit } from "./app.ts"
import { connectApp, serveApp } from "./app.ts"
import type { Cache } from "./cache.ts"
import { openCache } from "./cache.ts"
import type { Artifact, Published } from "./live.ts"
import { NOTHING_LIVE, NOT_NOW, NO_SUCH_PLACE } from "./notices.ts"
import { COOKIE, OWN_PATH, emailPage, sendPage } from "./sign-in-pages.ts"
import { serveOwn } from "./sign-in-routes.ts"
import { isNavigation, serveSite } from "./site.ts"
import type { Waking } from "./waking.ts"
import { openWaking } from "./waking.ts"

const CACHE_BYTES = 64 * 1024 * 1024
/** What one file of a manifest takes in memory beside its path. */
const FILE_BYTES = 300

/** What the door works with. */
interface Hall {
  readonly ports: Ports
  readonly domain: string
  readonly published: Published
  readonly signIn: SignIn
  readonly cache: Cache
  readonly waking: Waking
  readonly connections: KeptConnections
}

/** Somebody of a company, at its preview. */
interface Visitor {
  readonly companyId: CompanyId
  readonly personId: PersonId
  readonly token: string
}

/** The door. */
export function previewDoor(ports: Ports, published: Published): Door {
  const domain = ports.settings(publishingSettings).PREVIEW_DOMAIN
  const hall: Hall = {
    ports,
    domain,
    published,
    signIn: openSignIn(ports, { purpose: "preview", called: "the preview" }),
    cache: openCache(CACHE_BYTES),
    waking: openWaking(ports),
    connections: new KeptConnections(),
  }
  return {
    name: "company previews",
    takes: (host) => isWithin(host, domain),
    serve: (request, response, { address }) => void serve(hall, request, response, address),
    upgrade: (request, socket, head) => void upgrade(hall, request, socket, head),
  }
}

async function serve(
  hall: Hall,
  request: IncomingMessage,
  response: ServerResponse,
  address: string,
): Promise<void> {
  try {
    await answer(hall, request, response, address)
  } catch (error) {
    if (hasLeft(error)) return void response.destroy()
    hall.ports.log.warn("a preview could not be served", error)
    if (response.headersSent) response.destroy()
    else noticePage(response, NOT_NOW)
  }
}

/** What becomes of an answer, or of a form, whose visitor left in the middle. */
const LEFT = ["ERR_STREAM_PREMATURE_CLOSE", "ERR_STREAM_DESTROYED", "ERR_STREAM_UNABLE_TO_PIPE"]

/** Whether nothing went wrong but that nobody is there to be told. */
function hasLeft(error: unknown): boolean {
  if (error instanceof BodyCutOff || error instanceof BodyTooLate) return true
  return error instanceof Error && LEFT.includes((error as NodeJS.ErrnoException).code ?? "")
}

async function answer(
  hall: Hall,
  request: IncomingMessage,
  response: ServerResponse,
  address: string,
): Promise<void> {
  const label = labelAt(hall, request)
  if (label === null) return noticePage(response, NO_SUCH_PLACE)
  const { url = "/" } = request
  const visitor = await visitorAt(hall, request, label)
  if (url === OWN_PATH || url.startsWith(`${OWN_PATH}/`) || url.startsWith(`${OWN_PATH}?`)) {
    const companyId = visitor?.companyId ?? (await companyAt(hall.ports, label))
    const { signIn } = hall
    const isSignedIn = visitor !== null
    return serveOwn({ signIn, companyId, isSignedIn, request, response, address })
  }
  if (visitor === null) return askToSignIn(request, response)
  const live = await liveFor(hall, visitor)
  if (live === null) return noticePage(response, NOTHING_LIVE)
  if (live.kind === "app") return serveApp(visitOf(hall, visitor, live), request, response)
  const artifact = await artifactOf(hall, visitor.companyId, live)
  const files = artifact?.manifest.files ?? null
  if (artifact === null || files === null) return noticePage(response, NOT_NOW)
  return serveSite({ artifact, files, cache: hall.cache }, request, response)
}

async function upgrade(
  hall: Hall,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): Promise<void> {
  try {
    const label = labelAt(hall, request)
    if (label === null) return endOf(socket, refusalOf(404))
    const visitor = await visitorAt(hall, request, label)
    if (visitor === null) return endOf(socket, refusalOf(401))
    const live = await liveFor(hall, visitor)
    if (live?.kind !== "app") return endOf(socket, refusalOf(404))
    await connectApp(visitOf(hall, visitor, live), request, socket, head)
  } catch (error) {
    hall.ports.log.warn("a preview could not be served", error)
    endOf(socket, refusalOf(503))
  }
}

/** What a host name is the label of; null where no preview can have that name. */
function labelAt({ domain }: Hall, request: IncomingMessage): string | null {
  const label = labelIn(hostOf(request) ?? "", domain)
  return label === null || label.includes(".") ? null : label
}

/** Who asks; null where nobody of the label's company is signed in. */
async function visitorAt(
  { ports, signIn }: Hall,
  request: IncomingMessage,
  label: string,
): Promise<Visitor | null> {
  const token = tokenIn(request.headers.cookie, COOKIE)
  const companyId = token === null ? null : await companyAt(ports, label)
  if (token === null || companyId === null) return null
  const personId = await signIn.personOf(companyId, token)
  return personId === null ? null : { companyId, personId, token }
}

/** Asks people to sign in, and tells all else that nobody is. */
function askToSignIn(request: IncomingMessage, response: ServerResponse): void {
  // As HTTP wants it, of a scheme by which no browser asks for a password.
  const headers = { "www-authenticate": 'Cookie realm="preview"' }
  if (isNavigation(request)) {
    return sendPage(response, { ...emailPage(401, request.url ?? "/"), headers })
  }
  const rest = { "cache-control": "no-store", "x-robots-tag": "noindex", "content-length": 0 }
  response.writeHead(401, { ...headers, ...rest }).end()
}

/** What is live; null for nothing, and where the company is deleted. */
async function liveFor(
  { ports, published }: Hall,
  { companyId }: Visitor,
): Promise<LivePublish | null> {
  if ((await ports.runner.read(ledgerOf(companyId), deletionOf)) !== null) return null
  return published.livePublish(ports, companyId)
}

function visitOf(hall: Hall, visitor: Visitor, { publishId }: LivePublish): AppVisit {
  const { ports, waking, connections, published, signIn } = hall
  const { companyId, personId, token } = visitor
  return {
    ports,
    waking,
    connections,
    personId,
    version: { companyId, publishId },
    artifact: () => published.openArtifact(ports, companyId, publishId),
    isWelcome: async () => (await signIn.personOf(companyId, token)) !== null,
  }
}

/** What was built, as it was read lately. */
async function artifactOf(
  { ports, published, cache }: Hall,
  companyId: CompanyId,
  { publishId }: LivePublish,
): Promise<Artifact | null> {
  return cache.get(`artifact ${publishId}`, async () => {
    const value = await published.openArtifact(ports, companyId, publishId)
    const paths = [...(value?.manifest.files?.keys() ?? [])]
    // What is not there now is asked for again.
    const bytes = paths.reduce((sum, path) => sum + 2 * path.length + FILE_BYTES, FILE_BYTES)
    return { value, bytes: value === null ? Infinity : bytes }
  })
}
