/** Reads zone files in our format, independently of the writer: one record per line, absolute names. */

/** A record of a zone file. A TXT value is its UTF-8 bytes, read as text. */
export interface ZoneFileRecord {
  readonly name: string
  readonly ttl: number
  readonly type: string
  /** The values after the type; strings without their quotes. */
  readonly values: readonly string[]
}

/** Reads the records of a file. @throws Error at a line that is not a record */
export function readZoneFile(file: string): readonly ZoneFileRecord[] {
  const lines = file.split("\n")
  if (lines.at(-1) !== "") throw new Error("the last line has no line break")
  return lines.slice(0, -1).flatMap((line) => {
    if (line.startsWith("$ORIGIN ") || line.startsWith("$TTL ")) return []
    const [name = "", ttl = "", kind = "", type = "", ...values] = tokensOf(line)
    if (!name.endsWith(".") || !/^\d+$/.test(ttl) || kind !== "IN") {
      throw new Error(`not a record: ${line}`)
    }
    return [{ name: name.slice(0, -1), ttl: Number(ttl), type, values }]
  })
}

/** The words and strings of a line (RFC 1035 §5.1). */
function tokensOf(line: string): readonly string[] {
  const tokens: string[] = []
  let at = 0
  while (at < line.length) {
    if (line[at] === " ") {
      at += 1
      continue
    }
    const isString = line[at] === '"'
    if (isString) at += 1
    const bytes: number[] = []
    while (at < line.length && line[at] !== (isString ? '"' : " ")) {
      const [escape = ""] = /^\\(?:\d{3}|[^\d])/.exec(line.slice(at, at + 4)) ?? []
      const code =
        escape.length === 4 ? Number(escape.slice(1)) : line.charCodeAt(at + (escape ? 1 : 0))
      bytes.push(code)
      at += Math.max(escape.length, 1)
    }
    if (isString && line[at] !== '"') throw new Error(`unterminated string: ${line}`)
    if (isString) at += 1
    tokens.push(Buffer.from(bytes).toString("latin1"))
  }
  return tokens
}
