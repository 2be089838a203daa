/** The bytes of a page: uncompressed as far as they may go, and the text that they are. */
import { TextDecoder, promisify } from "node:util"
import { brotliDecompress, gunzip, inflate, inflateRaw } from "node:zlib"
import type { SiteProblemCode } from "./port.ts"

/** A page has at most so many bytes. */
export const MOST_BYTES = 1_048_576
/** So much of a page tells its encoding (WHATWG HTML, "prescan"). */
const PRESCAN_BYTES = 1_024

const [byGzip, byBrotli, byZlib, byDeflate] = [
  promisify(gunzip),
  promisify(brotliDecompress),
  promisify(inflate),
  promisify(inflateRaw),
]

/** The bytes before they were compressed; or what is wrong with them. */
export async function decompressed(
  bytes: Buffer,
  encoding: string,
): Promise<Buffer | SiteProblemCode> {
  const most = { maxOutputLength: MOST_BYTES }
  try {
    switch (encoding.trim().toLowerCase()) {
      case "":
      case "identity":
        return bytes.length > MOST_BYTES ? "too_large" : bytes
      case "gzip":
      case "x-gzip":
        return await byGzip(bytes, most)
      case "br":
        return await byBrotli(bytes, most)
      case "deflate":
        return await (hasZlibHead(bytes) ? byZlib(bytes, most) : byDeflate(bytes, most))
      default:
        return "unreachable"
    }
  } catch (error) {
    const { code } = error as { readonly code?: unknown }
    if (code === "ERR_BUFFER_TOO_LARGE") return "too_large"
    // What was sent is not what it says it is.
    if (typeof code === "string") return "unreachable"
    throw error
  }
}

/** Whether deflated bytes are wrapped as the standard says; many servers leave that out. */
function hasZlibHead(bytes: Buffer): boolean {
  const [first = 0, second = 0] = bytes
  return (first & 0x0f) === 8 && ((first << 8) | second) % 31 === 0
}

/** The text of a page, by what its head or itself says of its characters; else UTF-8. */
export function textOf(bytes: Buffer, contentType: string): string {
  const start = bytes.subarray(0, PRESCAN_BYTES).toString("latin1")
  const hasMark = start.startsWith("\u00EF\u00BB\u00BF")
  const said = /charset\s*=\s*["']?([\w-]+)/i
  const inItself = /<meta\b[^>]{0,200}?charset\s*=\s*["']?([\w-]+)/i
  const label = hasMark ? "utf-8" : (said.exec(contentType)?.[1] ?? inItself.exec(start)?.[1])
  return decoderOf(label ?? "utf-8").decode(bytes)
}

function decoderOf(label: string): TextDecoder {
  try {
    return new TextDecoder(label)
  } catch (error) {
    // Nobody knows such characters.
    if (error instanceof RangeError) return new TextDecoder()
    throw error
  }
}
