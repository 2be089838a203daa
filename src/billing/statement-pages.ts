/**
 * Lays out PDF pages with headings and tables in an embedded font. The same calls give the same
 * bytes: no time and nothing of the machine is written.
 */
import { createRequire } from "node:module"
import Pdf from "pdfkit"

/** Measures a text, in points. */
type WidthOf = (text: string) => number

const ELLIPSIS = "…"

const MARGIN = 56
const [SMALL, CELL, NORMAL, LARGE, TITLE] = [7, 9, 10, 13, 20]
const ROW = 16
/** Space between two columns. */
const GAP = 10
/**
 * A name takes at most this many lines of a column of this width (points), and more of a narrower
 * one.
 */
const [MAX_LINES, USUAL_WIDTH] = [3, 220]
/** Line spacing, as a factor of the font size. */
const LEADING = 1.25
const GREY = "#999999"
const [INK, DIM] = ["#000000", "#666666"]
const require = createRequire(import.meta.url)
/** Fonts by file: pdfkit opens a font again for each new name. */
const FONTS = {
  plain: require.resolve("dejavu-fonts-ttf/ttf/DejaVuSans.ttf"),
  bold: require.resolve("dejavu-fonts-ttf/ttf/DejaVuSans-Bold.ttf"),
}

/**
 * A column. A column of amounts is as wide as its widest amount, so that none is cut; the column of
 * names takes the rest and wraps.
 */
export interface PageColumn {
  readonly title: string
  readonly holds: "names" | "amounts"
}

/** A row: its cells, and a text below the first cell that is never cut. */
export interface PageRow {
  readonly cells: readonly string[]
  readonly subtext?: string
}

/** Pages that are being written. */
export interface StatementPages {
  readonly title: (text: string) => void
  readonly heading: (text: string) => void
  readonly line: (text: string) => void
  /** A table; its last row is a total. */
  readonly table: (columns: readonly PageColumn[], rows: readonly PageRow[]) => void
  /** Ends the pages, each with this footer; returns the file. */
  readonly end: (foot: string) => Promise<Buffer>
}

/** Starts a file. @param at the creation date in the file */
export function openStatementPages(title: string, at: Date): StatementPages {
  const doc = new Pdf({
    size: "A4",
    margin: MARGIN,
    bufferPages: true,
    font: FONTS.plain,
    info: { Title: title, Producer: "company-ledger", Creator: "company-ledger", CreationDate: at },
  })
  const chunks: Buffer[] = []
  doc.on("data", (chunk: Buffer) => chunks.push(chunk))
  const sheet: Sheet = { doc, width: doc.page.width - 2 * MARGIN, widths: new Map(), y: MARGIN }
  return {
    title: (text) => putText(sheet, text, { font: "bold", size: TITLE, height: 2 * ROW }),
    heading: (text) => {
      // Keep the heading on one page with its first rows.
      ensureSpace(sheet, 4 * ROW)
      sheet.y += ROW
      putText(sheet, text, { font: "bold", size: LARGE, height: 1.5 * ROW })
    },
    line: (text) => putText(sheet, text, { font: "plain", size: NORMAL, height: ROW }),
    table: (columns, rows) => putTable(sheet, columns, rows),
    end: async (foot) => {
      putFooters(sheet, foot)
      const { promise, resolve } = Promise.withResolvers<void>()
      doc.once("end", resolve)
      doc.end()
      await promise
      return Buffer.concat(chunks)
    },
  }
}

/** A document and the current height on its page. */
interface Sheet {
  readonly doc: PDFKit.PDFDocument
  readonly width: number
  /** Widths of characters, by font and size. */
  readonly widths: Map<string, Map<string, number>>
  y: number
}

/** Starts the next page if this height does not fit on the current one; true if it did. */
function ensureSpace(sheet: Sheet, height: number): boolean {
  if (sheet.y + height <= sheet.doc.page.height - MARGIN - 2 * ROW) return false
  sheet.doc.addPage()
  sheet.y = MARGIN
  return true
}

interface FontStyle {
  readonly font: "plain" | "bold"
  readonly size: number
}

/** The width of a text in points: the sum of its characters, each measured once. */
function widthOf(sheet: Sheet, { font, size }: FontStyle, text: string): number {
  const face = `${font} ${size}`
  const known = sheet.widths.get(face) ?? new Map<string, number>()
  sheet.widths.set(face, known)
  let sum = 0
  for (const character of text) {
    let width = known.get(character)
    if (width === undefined) {
      width = sheet.doc.font(FONTS[font]).fontSize(size).widthOfString(character)
      known.set(character, width)
    }
    sum += width
  }
  return sum
}

/** Wraps a printable text into at most `maxLines` lines of this width. */
function linesOf(
  sheet: Sheet,
  face: FontStyle,
  text: string,
  width: number,
  maxLines: number = MAX_LINES,
): readonly string[] {
  sheet.doc.font(FONTS[face.font])
  return wrapText(
    printableText(sheet.doc, text),
    (part) => widthOf(sheet, face, part),
    width,
    maxLines,
  )
}

/** Writes measured lines below each other; pdfkit must not wrap or cut them again. */
function putLines({ doc }: Sheet, face: FontStyle, lines: readonly string[], x: number, y: number) {
  doc.font(FONTS[face.font]).fontSize(face.size)
  for (const [i, line] of lines.entries()) {
    doc.text(line, x, y + i * face.size * LEADING, { lineBreak: false })
  }
}

function putText(
  sheet: Sheet,
  text: string,
  { height, ...face }: FontStyle & { readonly height: number },
): void {
  const lines = linesOf(sheet, face, text, sheet.width)
  const totalHeight = height + (lines.length - 1) * face.size * LEADING
  ensureSpace(sheet, totalHeight)
  putLines(sheet, face, lines, MARGIN, sheet.y)
  sheet.y += totalHeight
}

function putTable(sheet: Sheet, columns: readonly PageColumn[], rows: readonly PageRow[]): void {
  const widths = widthsOf(sheet, columns, rows)
  const titles = columns.map((column) => column.title)
  const head = () => {
    putRow(sheet, columns, widths, layOutRow(sheet, { cells: titles }, HEAD, widths))
    drawRule(sheet)
  }
  ensureSpace(sheet, 3 * ROW)
  head()
  for (const [i, row] of rows.entries()) {
    const isSum = i === rows.length - 1
    const laid = layOutRow(sheet, row, isSum ? SUM : ORDINARY, widths)
    if (ensureSpace(sheet, laid.height)) head()
    if (isSum) drawRule(sheet)
    putRow(sheet, columns, widths, laid)
  }
}

function widthsOf(
  sheet: Sheet,
  columns: readonly PageColumn[],
  rows: readonly PageRow[],
): readonly number[] {
  const widths = columns.map(({ title, holds }, i) => {
    if (holds === "names") return 0
    const amounts = rows.map(({ cells }) => widthOf(sheet, ORDINARY.amounts, cells[i] ?? ""))
    return GAP + Math.max(widthOf(sheet, HEAD.amounts, title), ...amounts)
  })
  const left = sheet.width - widths.reduce((sum, width) => sum + width, 0)
  return columns.map(({ holds }, i) => (holds === "names" ? left : (widths[i] ?? 0)))
}

interface RowStyle {
  readonly names: FontStyle
  readonly amounts: FontStyle
}

const BOLD: FontStyle = { font: "bold", size: CELL }
const PLAIN: FontStyle = { font: "plain", size: CELL }
const BELOW: FontStyle = { font: "plain", size: SMALL }
const HEAD: RowStyle = { names: BOLD, amounts: BOLD }
const ORDINARY: RowStyle = { names: PLAIN, amounts: PLAIN }
/** Bold amounts would be wider, and their points not aligned with those above. */
const SUM: RowStyle = { names: BOLD, amounts: PLAIN }

/** A row whose lines are laid out. */
interface RowLayout {
  readonly style: RowStyle
  readonly cells: readonly string[]
  /** The lines of its name, and those below it. */
  readonly name: readonly string[]
  readonly below: readonly string[]
  readonly height: number
}

function layOutRow(
  sheet: Sheet,
  { cells, subtext }: PageRow,
  style: RowStyle,
  [nameWidth = 0]: readonly number[],
): RowLayout {
  const maxLines = MAX_LINES * Math.ceil(USUAL_WIDTH / nameWidth)
  const name = linesOf(sheet, style.names, cells[0] ?? "", nameWidth, maxLines)
  const all = subtext === undefined ? [] : linesOf(sheet, BELOW, subtext, sheet.width, Infinity)
  const height = ROW + (name.length - 1) * CELL * LEADING
  const belowHeight = all.length === 0 ? 0 : ROW / 4 + all.length * SMALL * LEADING
  return { style, cells, name, below: all, height: height + belowHeight }
}

function putRow(
  sheet: Sheet,
  columns: readonly PageColumn[],
  widths: readonly number[],
  { style, cells, name, below, height }: RowLayout,
): void {
  let right = MARGIN
  putLines(sheet, style.names, name, MARGIN, sheet.y)
  for (const [i, { holds }] of columns.entries()) {
    right += widths[i] ?? 0
    if (holds === "names") continue
    const cell = cells[i] ?? ""
    const x = right - widthOf(sheet, style.amounts, cell)
    putLines(sheet, style.amounts, [cell], x, sheet.y)
  }
  // Close to the name above it.
  const y = sheet.y + ROW * 0.75 + (name.length - 1) * CELL * LEADING
  sheet.doc.fillColor(DIM)
  putLines(sheet, BELOW, below, MARGIN, y)
  sheet.doc.fillColor(INK)
  sheet.y += height
}

function drawRule({ doc, width, y }: Sheet): void {
  doc.moveTo(MARGIN, y - 4).lineTo(MARGIN + width, y - 4)
  doc.lineWidth(0.5).strokeColor(GREY).stroke()
}

function putFooters({ doc, width }: Sheet, foot: string): void {
  const { count } = doc.bufferedPageRange()
  const box = { width, height: SMALL * 1.5, ellipsis: true }
  for (let i = 0; i < count; i += 1) {
    doc.switchToPage(i)
    // Text below the margin would start another page.
    doc.page.margins.bottom = 0
    const y = doc.page.height - MARGIN
    doc.font(FONTS.plain).fontSize(SMALL).text(foot, MARGIN, y, box)
    doc.text(`${i + 1}/${count}`, MARGIN, y + ROW, { ...box, align: "right" })
  }
}

/** pdfkit's internal handle of the current font. */
interface DocumentWithFont {
  readonly _font: { readonly font: { hasGlyphForCodePoint: (codePoint: number) => boolean } }
}

/** Puts a text on one line. A character that the font lacks is written as its code point. */
function printableText(doc: PDFKit.PDFDocument, text: string): string {
  // pdfkit has no public API for a font's glyphs.
  // eslint-disable-next-line no-underscore-dangle
  const { font } = (doc as PDFKit.PDFDocument & DocumentWithFont)._font
  let line = ""
  for (const character of text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]/gu, " ")) {
    const point = character.codePointAt(0) ?? 0
    const name = point.toString(16).toUpperCase().padStart(4, "0")
    line += font.hasGlyphForCodePoint(point) ? character : `[U+${name}]`
  }
  return line
}

/** Wraps a text into at most `maxLines` lines of `width` points; a longer text loses its middle. */
export function wrapText(
  text: string,
  measured: WidthOf,
  width: number,
  maxLines: number,
): readonly string[] {
  const lines = breakLines(text, measured, width)
  if (lines.length <= maxLines) return lines
  const characters = [...text]
  const shortened = (kept: number) => {
    const [head, tail] = [characters.slice(0, kept), characters.slice(characters.length - kept)]
    return breakLines(`${head.join("")}${ELLIPSIS}${tail.join("")}`, measured, width)
  }
  let [fits, tooMany] = [0, Math.ceil(characters.length / 2)]
  while (tooMany - fits > 1) {
    const middle = Math.floor((fits + tooMany) / 2)
    if (shortened(middle).length <= maxLines) fits = middle
    else tooMany = middle
  }
  return shortened(fits)
}

/** Wraps a text between words, and within words that are wider than a line. */
function breakLines(text: string, measured: WidthOf, width: number): readonly string[] {
  const lines: string[] = []
  let line: string | null = null
  for (const word of text.split(" ")) {
    const longer: string = line === null ? word : `${line} ${word}`
    if (measured(longer) <= width) {
      line = longer
      continue
    }
    if (line !== null) lines.push(line)
    const parts = splitWord(word, measured, width)
    lines.push(...parts.slice(0, -1))
    line = parts.at(-1) ?? ""
  }
  return line === null ? lines : [...lines, line]
}

/** Splits a word into parts that fit; a part has at least one character. */
function splitWord(word: string, measured: WidthOf, width: number): readonly string[] {
  const parts: string[] = []
  let part = ""
  for (const character of word) {
    if (part !== "" && measured(part + character) > width) {
      parts.push(part)
      part = ""
    }
    part += character
  }
  return [...parts, part]
}
