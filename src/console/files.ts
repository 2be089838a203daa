/**
 * Serves the console's files from `console/dist/`: `index.html` at every page's address, and its assets, whose names
 * change with their content.
 */
import { randomBytes } from "node:crypto"
import { readFile } from "node:fs/promises"
import { extname } from "node:path"
import { fileURLToPath } from "node:url"
import { z } from "zod"
import type { RawRequest, Reply } from "../frame/routes/declare/route.ts"
import { publicRoute } from "../frame/routes/declare/route.ts"
import { headerValue } from "../frame/routes/api-call.ts"
import { htmlPage } from "../frame/routes/answers/answer-bodies.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import { ANY_QUERY } from "../frame/routes/checks/7-values.ts"

const DIST = fileURLToPath(new URL("../../console/dist/", import.meta.url))
/** Placeholder of the nonce in the built page. */
const NONCE = "__CSP_NONCE__"
const YEAR_S = 31_536_000

const base = { group: "console", method: "GET", query: ANY_QUERY, reply: z.unknown() } as const

export const consoleAsset = publicRoute({
  ...base,
  name: "consoleAsset",
  url: "/console/assets/:file",
  summary: "A file of the console",
  params: z.object({ file: z.string() }),
  refusalCodes: ["not_found"],
  handle: async (_ports, { params: { file }, rawRequest }) => {
    const isName = /^[\w-][\w.-]*$/.test(file)
    const found = isName ? await readBuilt(`assets/${file}`) : null
    if (found === null)
      return { ok: false, refusal: refusal("not_found", "There is no such file.") }
    const smaller = acceptsBrotli(rawRequest) ? await readBuilt(`assets/${file}.br`) : null
    // Loaded on demand: the table of media types is large.
    const { contentType } = await import("mime-types")
    return bytesReply(smaller ?? found, contentType(extname(file)) || "application/octet-stream", {
      "cache-control": `public, max-age=${YEAR_S}, immutable`,
      vary: "accept-encoding",
      "x-content-type-options": "nosniff",
      ...(smaller === null ? {} : { "content-encoding": "br" }),
    })
  },
})

/** The page, at every address of its router. */
export const consolePages = (
  [
    ["consoleHome", "/console"],
    ["consolePage", "/console/*"],
  ] as const
).map(([name, url]) =>
  publicRoute({
    ...base,
    name,
    url,
    summary: "The console",
    params: z.looseObject({}),
    refusalCodes: ["not_found"],
    handle: async () => {
      const built = await readBuilt("index.html")
      if (built === null) return { ok: true, body: {}, page: notBuiltPage() }
      const nonce = randomBytes(16).toString("base64")
      const page = built.toString("utf8").replaceAll(NONCE, nonce)
      return bytesReply(Buffer.from(page), "text/html; charset=utf-8", {
        "cache-control": "no-store",
        "content-security-policy": contentSecurityPolicy(nonce),
        "referrer-policy": "same-origin",
      })
    },
  }),
)

/** Allows content from this server only, and styles written at run time with the page's nonce. */
function contentSecurityPolicy(nonce: string): string {
  return [
    "default-src 'self'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data: blob:",
    "media-src 'self' blob:",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join("; ")
}

function notBuiltPage(): string {
  const text =
    "<p>Run <code>npm run build:console</code> once in the folder of the program to build its pages. " +
    'The <a href="/docs">API</a> and the command line work without them.</p>'
  return htmlPage("The console is not built yet", text)
}

/** Reads a built file; null if it does not exist. */
async function readBuilt(path: string): Promise<Buffer | null> {
  try {
    return await readFile(`${DIST}${path}`)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null
    throw error
  }
}

const acceptsBrotli = (sent: RawRequest): boolean =>
  /(^|[\s,])br($|[\s,;])/.test(headerValue(sent, "accept-encoding") ?? "")

function bytesReply(
  bytes: Buffer,
  mediaType: string,
  headers: Readonly<Record<string, string>>,
): Reply<unknown> {
  const part = async function* (from: number, to: number) {
    yield bytes.subarray(from, to)
  }
  return {
    ok: true,
    body: {},
    streamedBody: { mediaType, size: bytes.length, headers, read: part },
  }
}
