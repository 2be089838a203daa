/**
 * The console's own files, as its build wrote them into `console/dist/`: `index.html` at every page's address,
 * and what it loads, under names that change with what is in them.
 */
import { randomBytes } from "node:crypto"
import { readFile } from "node:fs/promises"
import { extname } from "node:path"
import { fileURLToPath } from "node:url"
import { z } from "zod"
import type { AsSent, Reply } from "../frame/routes/declare/route.ts"
import { openRoute } from "../frame/routes/declare/route.ts"
import { fieldOf } from "../frame/routes/call.ts"
import { htmlPage } from "../frame/routes/answers/sent.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import { ANY_QUERY } from "../frame/routes/checks/7-values.ts"

const BUILT = fileURLToPath(new URL("../../console/dist/", import.meta.url))
/** Stands in the built page wherever a nonce belongs. */
const NONCE = "__CSP_NONCE__"
const YEAR_S = 31_536_000

const base = { group: "console", method: "GET", query: ANY_QUERY, reply: z.unknown() } as const

/** A file that the page loads. */
export const asset = openRoute({
  ...base,
  name: "consoleAsset",
  url: "/console/assets/:file",
  summary: "A file of the console",
  params: z.object({ file: z.string() }),
  refuses: ["not_found"],
  handle: async (_ports, { params: { file }, sent }) => {
    const isName = /^[\w-][\w.-]*$/.test(file)
    const found = isName ? await read(`assets/${file}`) : null
    if (found === null)
      return { ok: false, refusal: refusal("not_found", "There is no such file.") }
    const smaller = takesBrotli(sent) ? await read(`assets/${file}.br`) : null
    // Its table of all types is large.
    const { contentType } = await import("mime-types")
    return bytesOf(smaller ?? found, contentType(extname(file)) || "application/octet-stream", {
      "cache-control": `public, max-age=${YEAR_S}, immutable`,
      vary: "accept-encoding",
      "x-content-type-options": "nosniff",
      ...(smaller === null ? {} : { "content-encoding": "br" }),
    })
  },
})

/** The page, at every address that its own router knows. */
export const shells = (
  [
    ["consoleHome", "/console"],
    ["consolePage", "/console/*"],
  ] as const
).map(([name, url]) =>
  openRoute({
    ...base,
    name,
    url,
    summary: "The console",
    params: z.looseObject({}),
    refuses: ["not_found"],
    handle: async () => {
      const built = await read("index.html")
      if (built === null) return { ok: true, body: {}, page: notBuilt() }
      const nonce = randomBytes(16).toString("base64")
      const page = built.toString("utf8").replaceAll(NONCE, nonce)
      return bytesOf(Buffer.from(page), "text/html; charset=utf-8", {
        "cache-control": "no-store",
        "content-security-policy": policyWith(nonce),
        "referrer-policy": "same-origin",
      })
    },
  }),
)

/** Everything from here alone; styles that are written at run time by the nonce of the page. */
function policyWith(nonce: string): string {
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

function notBuilt(): string {
  const says =
    "<p>Its pages are made by <code>npm run build:console</code>, once, in the folder of the program. " +
    'Until then the <a href="/docs">API</a> and the command line do all that it would.</p>'
  return htmlPage("The console is not built yet", says)
}

/** A built file; null where there is none. */
async function read(path: string): Promise<Buffer | null> {
  try {
    return await readFile(`${BUILT}${path}`)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null
    throw error
  }
}

const takesBrotli = (sent: AsSent): boolean =>
  /(^|[\s,])br($|[\s,;])/.test(fieldOf(sent, "accept-encoding") ?? "")

function bytesOf(
  bytes: Buffer,
  mediaType: string,
  headers: Readonly<Record<string, string>>,
): Reply<unknown> {
  const part = async function* (from: number, to: number) {
    yield bytes.subarray(from, to)
  }
  return { ok: true, body: {}, sends: { mediaType, size: bytes.length, headers, read: part } }
}
