/**
 * Pages of a PDF with headings and tables of text, in an embedded font. The same calls give the same
 * bytes: nothing of the moment or of the machine is written.
 */
import { createRequire } from "node:module"
import Pdf from "pdfkit"

/** How wide a text is, in points. */
type WidthOf = (text: string) => number

const ELLIPSIS = "…"

const MARGIN = 56
const [SMALL, CELL, NORMAL, LARGE, TITLE] = [7, 9, 10, 13, 20]
const ROW = 16
/** Between two columns. */
const GAP = 10
/** A name takes at most so many lines of a column of this width, points, and more of a narrower one. */
const [MAX_LINES, USUAL_WIDTH] = [3, 220]
/** From one line of a text to its next, by the size of its letters. */
const LEADING = 1.25
const GREY = "#999999"
const [INK, DIM] = ["#000000", "#666666"]
const require = createRequire(import.meta.url)
/** By their files: pdfkit opens a font anew each time it is called by another name than it had first. */
const FONTS = {
  plain: require.resolve("dejavu-fonts-ttf/ttf/DejaVuSans.ttf"),
  bold: require.resolve("dejavu-fonts-ttf/ttf/DejaVuSans-Bold.ttf"),
}

/**
 * A column. One of amounts is as wide as the widest of them, so that none is ever cut; that of names,
 * the first, has what is left, and a name is broken over lines.
 */
export interface PageColumn {
  readonly title: string
  readonly holds: "names" | "amounts"
}

/** A row of a table: its cells, and what stands below the first, whole, however long it is. */
export interface PageRow {
  readonly cells: readonly string[]
  readonly subtext?: string
}

/** Pages that are being written. */
export interface StatementPages {
  readonly title: (text: string) => void
  readonly heading: (text: string) => void
  readonly line: (text: string) => void
  /** A table; its last row is a sum. */
  readonly table: (columns: readonly PageColumn[], rows: readonly PageRow[]) => void
  /** Ends the pages, each with this text at its foot; answers the file. */
  readonly end: (foot: string) => Promise<Buffer>
}

/** Begins a file. `at`: the instant that it says it is of. */
export function openStatementPages(title: string, at: Date): StatementPages {
  const doc = new Pdf({
    size: "A4",
    margin: MARGIN,
    bufferPages: true,
    font: FONTS.plain,
    info: { Title: title, Producer: "company-ledger", Creator: "company-ledger", CreationDate: at },
  })
  const pieces: Buffer[] = []
  doc.on("data", (piece: Buffer) => pieces.push(piece))
  const sheet: Sheet = { doc, width: doc.page.width - 2 * MARGIN, widths: new Map(), y: MARGIN }
  return {
    title: (text) => putText(sheet, text, { font: "bold", size: TITLE, height: 2 * ROW }),
    heading: (text) => {
      // With some of what it is a heading of.
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
      return Buffer.concat(pieces)
    },
  }
}

/** Where on its page a document stands. */
interface Sheet {
  readonly doc: PDFKit.PDFDocument
  readonly width: number
  /** How wide characters are, by font and size. */
  readonly widths: Map<string, Map<string, number>>
  y: number
}

/** Goes on to the next page where so much has no room on this one; true where it did. */
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

/** How wide a text is as it is shown, in points: the sum of its characters, each measured once. */
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

/** A text as it is shown, in at most so many lines that are no wider than this. */
function linesOf(
  sheet: Sheet,
  face: FontStyle,
  text: string,
  width: number,
  most: number = MAX_LINES,
): readonly string[] {
  sheet.doc.font(FONTS[face.font])
  return wrapText(printableText(sheet.doc, text), (part) => widthOf(sheet, face, part), width, most)
}

/** Writes lines below one another. They were measured: nothing may break or cut them again. */
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
  const whole = height + (lines.length - 1) * face.size * LEADING
  ensureSpace(sheet, whole)
  putLines(sheet, face, lines, MARGIN, sheet.y)
  sheet.y += whole
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

/** How wide each column is. */
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

/** How a row is written. */
interface RowStyle {
  readonly names: FontStyle
  readonly amounts: FontStyle
}

const BOLD: FontStyle = { font: "bold", size: CELL }
const PLAIN: FontStyle = { font: "plain", size: CELL }
const BELOW: FontStyle = { font: "plain", size: SMALL }
const HEAD: RowStyle = { names: BOLD, amounts: BOLD }
const ORDINARY: RowStyle = { names: PLAIN, amounts: PLAIN }
/** Bold amounts would be wider, and their points out of line with those above. */
const SUM: RowStyle = { names: BOLD, amounts: PLAIN }

/** A row whose lines are known. */
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
  const most = MAX_LINES * Math.ceil(USUAL_WIDTH / nameWidth)
  const name = linesOf(sheet, style.names, cells[0] ?? "", nameWidth, most)
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
  // Close to what it stands below.
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
    // Text below the margin would begin a page of its own.
    doc.page.margins.bottom = 0
    const y = doc.page.height - MARGIN
    doc.font(FONTS.plain).fontSize(SMALL).text(foot, MARGIN, y, box)
    doc.text(`${i + 1}/${count}`, MARGIN, y + ROW, { ...box, align: "right" })
  }
}

/** The font that a document writes with, as pdfkit holds it. */
interface DocumentWithFont {
  readonly _font: { readonly font: { hasGlyphForCodePoint: (codePoint: number) => boolean } }
}

/** A text on one line. A character that the font does not have is named: a box would say nothing. */
function printableText(doc: PDFKit.PDFDocument, text: string): string {
  // pdfkit says nowhere else what its font has.
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

/** A text in at most so many lines, none wider than `width` points. */
export function wrapText(
  text: string,
  measured: WidthOf,
  width: number,
  most: number,
): readonly string[] {
  const lines = breakLines(text, measured, width)
  if (lines.length <= most) return lines
  const characters = [...text]
  const shortened = (kept: number) => {
    const [head, tail] = [characters.slice(0, kept), characters.slice(characters.length - kept)]
    return breakLines(`${head.join("")}${ELLIPSIS}${tail.join("")}`, measured, width)
  }
  let [fits, tooMany] = [0, Math.ceil(characters.length / 2)]
  while (tooMany - fits > 1) {
    const middle = Math.floor((fits + tooMany) / 2)
    if (shortened(middle).length <= most) fits = middle
    else tooMany = middle
  }
  return shortened(fits)
}

/** A text in as many lines as it needs: broken between words, and within one that is wider than a line. */
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

/** A word in parts of which each fits; one character is a part, however wide it is. */
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
