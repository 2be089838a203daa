/** Static sites: files of an artifact, small ones from memory. */
import type {
  IncomingMessage,
  OutgoingHttpHeaders,
  ServerResponse,
  IncomingHttpHeaders,
} from "node:http"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { promisify } from "node:util"
import { brotliCompress, constants, gzip } from "node:zlib"
import { sendNoticePage } from "../../frame/http/proxy/proxy.ts"
import { byteRangeOf } from "../../frame/http/responses.ts"
import type { ArtifactFile } from "../artifacts.ts"
import type { MemoryCache } from "./memory-cache.ts"
import type { SiteFiles } from "./find-file.ts"
import { findSiteFile, isContentHashed } from "./find-file.ts"
import type { Artifact } from "./publish-reader.ts"
import { NO_SUCH_PAGE, MALFORMED_ADDRESS } from "./notices.ts"

/** How texts are compressed, the better first. */
const ENCODINGS = ["br", "gzip"] as const

/** How something is compressed. */
type Encoding = (typeof ENCODINGS)[number]

/** What is larger is streamed from where it is kept, and held in no memory. */
const MAX_CACHED_BYTES = 256 * 1024
/** What is smaller is hardly smaller when it is compressed. */
const MIN_COMPRESSED_BYTES = 1024
/** What is larger takes too long to compress while somebody waits. */
const MAX_COMPRESSED_BYTES = 4 * 1024 * 1024
/** Small enough for speed: it is done while somebody waits, and once. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }
const COMPRESSIBLE =
  /^(?:text\/|application\/(?:json|javascript|xml|wasm|manifest)|image\/svg)|[+](?:json|xml)/

const YEAR_S = 365 * 24 * 3_600

/** A site, and where what was read of it is kept. */
export interface ServedSite {
  readonly artifact: Artifact
  readonly files: SiteFiles
  readonly cache: MemoryCache
}

/** Answers a request for a file of a site. */
export async function serveStaticSite(
  site: ServedSite,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { method = "GET", url = "/" } = request
  if (method !== "GET" && method !== "HEAD") {
    response.writeHead(405, { allow: "GET, HEAD", "content-length": 0, ...COMMON_HEADERS }).end()
    return
  }
  const found = findSiteFile(site.files, url)
  switch (found.kind) {
    case "file":
      return sendFile(site, found.name, { request, response, status: 200 })
    case "folder": {
      const told = { location: found.to, "cache-control": "private, no-cache", ...COMMON_HEADERS }
      response.writeHead(302, { ...told, "content-length": 0 }).end()
      return
    }
    case "wrong":
      return sendNoticePage(response, MALFORMED_ADDRESS)
    case "nothing":
      return sendFallback(site, request, response)
  }
}

/** Whether a person opens a page, as browsers say it. */
export function isNavigation({ method, headers }: IncomingMessage): boolean {
  return (method === "GET" || method === "HEAD") && (headers.accept ?? "").includes("text/html")
}

/** What stands for what is not there: the page of a site that knows its own paths, or its page for that. */
async function sendFallback(
  site: ServedSite,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { serves } = site.artifact.manifest.recipe
  const fallback = serves.kind === "static" ? serves.fallback : null
  if (fallback !== null && site.files.has(fallback) && isNavigation(request)) {
    return sendFile(site, fallback, { request, response, status: 200 })
  }
  if (site.files.has("404.html")) {
    return sendFile(site, "404.html", { request, response, status: 404 })
  }
  sendNoticePage(response, NO_SUCH_PAGE)
}

const COMMON_HEADERS: OutgoingHttpHeaders = {
  "x-content-type-options": "nosniff",
  "x-robots-tag": "noindex",
}

/** What is answered, and to whom. */
interface FileRequest {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly status: 200 | 404
}

async function sendFile(
  site: ServedSite,
  name: string,
  { request, response, status }: FileRequest,
): Promise<void> {
  const { headers, method } = request
  const file = site.files.get(name) as ArtifactFile
  const { hash, size } = file
  const { contentType } = await import("mime-types")
  const type = contentType(name.slice(name.lastIndexOf("/") + 1)) || "application/octet-stream"
  const tag = entityTag(hash, null)
  const part = status === 200 && method === "GET" ? byteRangeOf(headers, size, tag) : null
  const encoding =
    part === null && isCompressed(type, size) ? encodingFor(headers["accept-encoding"]) : null
  const told: OutgoingHttpHeaders = {
    ...COMMON_HEADERS,
    "content-type": type,
    "cache-control": cacheControlFor(name, status),
    etag: entityTag(hash, encoding),
    vary: "Accept-Encoding",
    ...(encoding === null ? { "accept-ranges": "bytes" } : { "content-encoding": encoding }),
  }
  if (status === 200 && isNotModified(headers, hash)) {
    const { "content-type": _type, "content-encoding": _encoding, ...kept } = told
    response.writeHead(304, kept).end()
    return
  }
  if (part === "none") {
    const unmet = { "content-range": `bytes */${size}`, "content-length": 0 }
    response.writeHead(416, { ...COMMON_HEADERS, ...unmet }).end()
    return
  }
  if (part !== null) {
    const range = `bytes ${part.from}-${part.until - 1}/${size}`
    const length = part.until - part.from
    response.writeHead(206, { ...told, "content-range": range, "content-length": length })
    return streamFile(
      site,
      { ...file, from: file.from + part.from, size: length },
      request,
      response,
    )
  }
  const bytes = await wholeBytes(site, file, encoding)
  response.writeHead(status, { ...told, "content-length": bytes?.length ?? size })
  if (bytes === null) return streamFile(site, file, request, response)
  response.end(bytes)
}

/** The whole file from memory; null where it is too large to be held there as it is. */
async function wholeBytes(
  site: ServedSite,
  file: ArtifactFile,
  encoding: Encoding | null,
): Promise<Buffer | null> {
  if (encoding !== null) return compressed(site, file, encoding)
  return file.size <= MAX_CACHED_BYTES ? readCached(site, file) : null
}

/** What a name says may be kept for ever; all else is asked for anew, and mostly answered by 304. */
function cacheControlFor(name: string, status: number): string {
  const isForEver = status === 200 && isContentHashed(name)
  return isForEver ? `private, max-age=${YEAR_S}, immutable` : "private, no-cache"
}

function isCompressed(type: string, size: number): boolean {
  return size > MIN_COMPRESSED_BYTES && size <= MAX_COMPRESSED_BYTES && COMPRESSIBLE.test(type)
}

/** Streams bytes; where they cannot be read to their end, the visitor sees that they are not whole. */
async function streamFile(
  { artifact }: ServedSite,
  { from, size }: ArtifactFile,
  { method }: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (method === "HEAD") {
    response.end()
    return
  }
  await pipeline(Readable.from(artifact.content.read({ from, until: from + size })), response)
}

const COMPRESSORS = {
  br: async (bytes: Buffer) => promisify(brotliCompress)(bytes, BROTLI),
  gzip: async (bytes: Buffer) => promisify(gzip)(bytes),
}

/** Under the hash of its bytes: what is the same in the next version is there already. */
async function compressed(
  site: ServedSite,
  file: ArtifactFile,
  encoding: Encoding,
): Promise<Buffer> {
  return site.cache.get(`${encoding} ${file.hash}`, async () => {
    const bytes =
      file.size <= MAX_CACHED_BYTES ? await readCached(site, file) : await readBytes(site, file)
    const value = await COMPRESSORS[encoding](bytes)
    return { value, bytes: value.length }
  })
}

async function readCached(site: ServedSite, file: ArtifactFile): Promise<Buffer> {
  return site.cache.get(`as it is ${file.hash}`, async () => {
    const value = await readBytes(site, file)
    return { value, bytes: value.length }
  })
}

async function readBytes({ artifact }: ServedSite, { from, size }: ArtifactFile): Promise<Buffer> {
  if (size === 0) return Buffer.alloc(0)
  const pieces: Buffer[] = []
  for await (const piece of artifact.content.read({ from, until: from + size })) pieces.push(piece)
  return Buffer.concat(pieces, size)
}

/** The best encoding that a visitor takes; null for none. */
function encodingFor(header: string | string[] | undefined): Encoding | null {
  const taken = String(header ?? "")
    .toLowerCase()
    .split(",")
    .flatMap((part) => {
      const [name = "", ...parameters] = part.split(";").map((one) => one.trim())
      const isRefused = parameters.some((one) => /^q=0(\.0*)?$/.test(one))
      return isRefused ? [] : [name]
    })
  return ENCODINGS.find((one) => taken.includes(one)) ?? null
}

/** The tag of a file, whose bytes differ by how they are compressed. */
function entityTag(hash: string, encoding: Encoding | null): string {
  return encoding === null ? `"${hash}"` : `"${hash}-${encoding}"`
}

/** Whether the visitor has these bytes already, however they were compressed then. */
function isNotModified({ "if-none-match": header }: IncomingHttpHeaders, hash: string): boolean {
  if (header === undefined) return false
  if (header.trim() === "*") return true
  const tags = header.split(",").map((tag) => tag.trim().replace(/^W\//, ""))
  return [null, ...ENCODINGS].some((encoding) => tags.includes(entityTag(hash, encoding)))
}
