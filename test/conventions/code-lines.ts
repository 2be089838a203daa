/** Which lines of a file hold code: neither blank ones nor those of comments alone. */
import { extname } from "node:path"
import ts from "typescript"

/** A piece of a text: from one offset up to another one. */
type Piece = readonly [start: number, end: number]

/** The files that hold code, by their names' ends, and how the code in them is found. */
const LANGUAGES: Readonly<Record<string, (path: string, text: string) => readonly Piece[]>> = {
  ".ts": tokensOfTypeScript,
  ".mts": tokensOfTypeScript,
  ".cts": tokensOfTypeScript,
  ".js": tokensOfTypeScript,
  ".mjs": tokensOfTypeScript,
  ".cjs": tokensOfTypeScript,
  ".sql": (_path, text) => tokensOfSql(text),
}

/**
 * The lines of a file that hold code, the first one being 1, in their order; null where the file is of
 * no language that is counted.
 */
export function codeLines(path: string, text: string): readonly number[] | null {
  const pieces = LANGUAGES[extname(path)]?.(path, text)
  if (pieces === undefined) return null
  const lines = text.split("\n")
  const starts = startsOf(lines)
  const code = new Set<number>()
  let line = 0
  for (const [start, end] of pieces) {
    while ((starts[line + 1] ?? Infinity) <= start) line += 1
    for (let at = line; (starts[at] ?? Infinity) < end; at += 1) code.add(at)
  }
  // A blank line in the middle of a text is as blank as any other.
  return [...code].filter((at) => lines[at]?.trim() !== "").map((at) => at + 1)
}

function startsOf(lines: readonly string[]): readonly number[] {
  let start = 0
  return lines.map(({ length }) => {
    start += length + 1
    return start - length - 1
  })
}

/** The tokens of TypeScript or JavaScript in their order: what its own scanner takes for no comment. */
function tokensOfTypeScript(path: string, text: string): readonly Piece[] {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.ESNext, true)
  const tokens: Piece[] = []
  const shebang = ts.getShebang(text)
  if (shebang !== undefined) tokens.push([0, shebang.length])
  const visit = (node: ts.Node): void => {
    if (ts.isJSDoc(node)) return
    const parts = node.getChildren(source)
    const start = node.getStart(source)
    if (parts.length === 0 && start < node.end) tokens.push([start, node.end])
    for (const part of parts) visit(part)
  }
  visit(source)
  return tokens
}

/** What an SQL file is made of: comments to a line's end, texts, names in quotes, and all else. */
const SQL =
  /(?<line>--[^\n]*)|(?<block>\/\*)|(?<blank>\s+)|[eE]'(?:[^'\\]|\\[^]|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|(?<tag>\$(?:[A-Za-z_]\w*)?\$)[^]*?\k<tag>|[^]/y

/** The tokens of SQL in their order. */
function tokensOfSql(text: string): readonly Piece[] {
  const tokens: Piece[] = []
  const scanner = new RegExp(SQL)
  for (let found = scanner.exec(text); found !== null; found = scanner.exec(text)) {
    const { line, block, blank } = found.groups ?? {}
    if (block !== undefined) scanner.lastIndex = endOfComment(text, found.index)
    else if (line === undefined && blank === undefined)
      tokens.push([found.index, scanner.lastIndex])
  }
  return tokens
}

/** Where the comment ends that begins at an offset: comments may stand in it. */
function endOfComment(text: string, begin: number): number {
  let depth = 0
  for (const { index, 0: mark } of text.slice(begin).matchAll(/\/\*|\*\//g)) {
    depth += mark === "/*" ? 1 : -1
    if (depth === 0) return begin + index + mark.length
  }
  return text.length
}
