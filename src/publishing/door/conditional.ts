/** What a request asks of a representation: whether it has it already, which part, and how it is encoded. */
import type { IncomingHttpHeaders } from "node:http"

/** How texts are compressed, the better first. */
export const ENCODINGS = ["br", "gzip"] as const

/** How something is compressed. */
export type Encoding = (typeof ENCODINGS)[number]

/** The best encoding that a visitor takes; null for none. */
export function encodingFor(header: string | string[] | undefined): Encoding | null {
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
export function entityTag(hash: string, encoding: Encoding | null): string {
  return encoding === null ? `"${hash}"` : `"${hash}-${encoding}"`
}

/** Whether the visitor has these bytes already, however they were compressed then. */
export function isKnown({ "if-none-match": header }: IncomingHttpHeaders, hash: string): boolean {
  if (header === undefined) return false
  if (header.trim() === "*") return true
  const tags = header.split(",").map((tag) => tag.trim().replace(/^W\//, ""))
  return [null, ...ENCODINGS].some((encoding) => tags.includes(entityTag(hash, encoding)))
}
