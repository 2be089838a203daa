/** Serves the files of a static site, small files from memory. */
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
import type { Artifact } from "../artifacts.ts"
import { NO_SUCH_PAGE, MALFORMED_ADDRESS } from "./notices.ts"

/** Supported compressions, best first. */
const ENCODINGS = ["br", "gzip"] as const

type Encoding = (typeof ENCODINGS)[number]

/** Larger files are streamed from the blob, and not cached. */
const MAX_CACHED_BYTES = 256 * 1024
/** Smaller files gain too little from compression. */
const MIN_COMPRESSED_BYTES = 1024
/** Larger files take too long to compress while a visitor waits. */
const MAX_COMPRESSED_BYTES = 4 * 1024 * 1024
/** Fast enough, because a visitor waits; the result is cached. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }
const COMPRESSIBLE =
  /^(?:text\/|application\/(?:json|javascript|xml|wasm|manifest)|image\/svg)|[+](?:json|xml)/

const YEAR_S = 365 * 24 * 3_600

export interface ServedSite {
  readonly artifact: Artifact
  readonly files: SiteFiles
  readonly cache: MemoryCache
}

/** Serves a request for a file of a site. */
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
      const headers = {
        location: found.to,
        "cache-control": "private, no-cache",
        ...COMMON_HEADERS,
      }
      response.writeHead(302, { ...headers, "content-length": 0 }).end()
      return
    }
    case "wrong":
      return sendNoticePage(response, MALFORMED_ADDRESS)
    case "nothing":
      return sendFallback(site, request, response)
  }
}

/** Whether a browser opens a page. */
export function isNavigation({ method, headers }: IncomingMessage): boolean {
  return (method === "GET" || method === "HEAD") && (headers.accept ?? "").includes("text/html")
}

/** Serves the fallback page of a single-page app, the site's own 404 page, or a notice. */
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

/** The request, and the status of its answer. */
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
  const sentHeaders: OutgoingHttpHeaders = {
    ...COMMON_HEADERS,
    "content-type": type,
    "cache-control": cacheControlFor(name, status),
    etag: entityTag(hash, encoding),
    vary: "Accept-Encoding",
    ...(encoding === null ? { "accept-ranges": "bytes" } : { "content-encoding": encoding }),
  }
  if (status === 200 && isNotModified(headers, hash)) {
    const { "content-type": _type, "content-encoding": _encoding, ...retained } = sentHeaders
    response.writeHead(304, retained).end()
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
    response.writeHead(206, { ...sentHeaders, "content-range": range, "content-length": length })
    return streamFile(
      site,
      { ...file, from: file.from + part.from, size: length },
      request,
      response,
    )
  }
  const bytes = await wholeBytes(site, file, encoding)
  response.writeHead(status, { ...sentHeaders, "content-length": bytes?.length ?? size })
  if (bytes === null) return streamFile(site, file, request, response)
  response.end(bytes)
}

/** All bytes of a file, from the cache; null if it is too large to be cached uncompressed. */
async function wholeBytes(
  site: ServedSite,
  file: ArtifactFile,
  encoding: Encoding | null,
): Promise<Buffer | null> {
  if (encoding !== null) return compressed(site, file, encoding)
  return file.size <= MAX_CACHED_BYTES ? readCached(site, file) : null
}

/** Files with a content hash never change; all others are revalidated, usually with a 304. */
function cacheControlFor(name: string, status: number): string {
  const isForEver = status === 200 && isContentHashed(name)
  return isForEver ? `private, max-age=${YEAR_S}, immutable` : "private, no-cache"
}

function isCompressed(type: string, size: number): boolean {
  return size > MIN_COMPRESSED_BYTES && size <= MAX_COMPRESSED_BYTES && COMPRESSIBLE.test(type)
}

/** Streams bytes. If they cannot be read completely, the connection breaks, so the visitor notices. */
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

/** Compressed bytes, cached by the hash of the content, which the next version may share. */
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

/** The best compression that the visitor accepts; null for none. */
function encodingFor(header: string | string[] | undefined): Encoding | null {
  const accepted = String(header ?? "")
    .toLowerCase()
    .split(",")
    .flatMap((part) => {
      const [name = "", ...parameters] = part.split(";").map((one) => one.trim())
      const isRefused = parameters.some((one) => /^q=0(\.0*)?$/.test(one))
      return isRefused ? [] : [name]
    })
  return ENCODINGS.find((one) => accepted.includes(one)) ?? null
}

function entityTag(hash: string, encoding: Encoding | null): string {
  return encoding === null ? `"${hash}"` : `"${hash}-${encoding}"`
}

/** Whether the visitor already has these bytes, in any encoding. */
function isNotModified({ "if-none-match": header }: IncomingHttpHeaders, hash: string): boolean {
  if (header === undefined) return false
  if (header.trim() === "*") return true
  const tags = header.split(",").map((tag) => tag.trim().replace(/^W\//, ""))
  return [null, ...ENCODINGS].some((encoding) => tags.includes(entityTag(hash, encoding)))
}
