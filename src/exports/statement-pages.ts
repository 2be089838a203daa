/**
 * Pages of a PDF with headings and tables of text, in an embedded font. The same calls give the same
 * bytes: nothing of the moment or of the machine is written.
 */
import { fileURLToPath } from "node:url"
import Pdf from "pdfkit"

const MARGIN = 56
const [SMALL, CELL, NORMAL, LARGE, TITLE] = [7, 9, 10, 13, 20]
const ROW = 16
const GREY = "#999999"
const [INK, DIM] = ["#000000", "#666666"]
const FONTS = {
  plain: fileURLToPath(import.meta.resolve("dejavu-fonts-ttf/ttf/DejaVuSans.ttf")),
  bold: fileURLToPath(import.meta.resolve("dejavu-fonts-ttf/ttf/DejaVuSans-Bold.ttf")),
}

/** A column: what share of the width it has, and where its text stands. */
export interface PageColumn {
  readonly title: string
  readonly share: number
  readonly align: "left" | "right"
}

/** A row of a table: its cells, and what stands below the first, whole, however long that one is. */
export interface PageRow {
  readonly cells: readonly string[]
  readonly below?: string
}

/** Pages that are being written. */
export interface Pages {
  readonly title: (text: string) => void
  readonly heading: (text: string) => void
  readonly line: (text: string) => void
  /** A table; its last row is a sum. */
  readonly table: (columns: readonly PageColumn[], rows: readonly PageRow[]) => void
  /** Ends the pages, each with this text at its foot; answers the file. */
  readonly end: (foot: string) => Promise<Buffer>
}

/** Begins a file. `at`: the instant that it says it is of. */
export function openPages(title: string, at: Date): Pages {
  const doc = new Pdf({
    size: "A4",
    margin: MARGIN,
    bufferPages: true,
    font: FONTS.plain,
    info: { Title: title, Producer: "company-ledger", Creator: "company-ledger", CreationDate: at },
  })
  doc.registerFont("plain", FONTS.plain).registerFont("bold", FONTS.bold)
  const pieces: Buffer[] = []
  doc.on("data", (piece: Buffer) => pieces.push(piece))
  const sheet: Sheet = { doc, width: doc.page.width - 2 * MARGIN, y: MARGIN }
  return {
    title: (text) => put(sheet, text, { font: "bold", size: TITLE, height: 2 * ROW }),
    heading: (text) => {
      // With some of what it is a heading of.
      makeRoom(sheet, 4 * ROW)
      sheet.y += ROW
      put(sheet, text, { font: "bold", size: LARGE, height: 1.5 * ROW })
    },
    line: (text) => put(sheet, text, { font: "plain", size: NORMAL, height: ROW }),
    table: (columns, rows) => putTable(sheet, columns, rows),
    end: async (foot) => {
      putFeet(sheet, foot)
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
  y: number
}

/** Goes on to the next page where so much has no room on this one; true where it did. */
function makeRoom(sheet: Sheet, height: number): boolean {
  if (sheet.y + height <= sheet.doc.page.height - MARGIN - 2 * ROW) return false
  sheet.doc.addPage()
  sheet.y = MARGIN
  return true
}

function put(
  sheet: Sheet,
  text: string,
  { font, size, height }: { font: "plain" | "bold"; size: number; height: number },
): void {
  makeRoom(sheet, height)
  const box = { width: sheet.width, height: size * 1.5, ellipsis: true }
  sheet.doc.font(font).fontSize(size).text(shown(sheet.doc, text), MARGIN, sheet.y, box)
  sheet.y += height
}

function putTable(sheet: Sheet, columns: readonly PageColumn[], rows: readonly PageRow[]): void {
  const titles = columns.map((column) => column.title)
  const head = () => {
    putCells(sheet, columns, titles, { font: "bold", isHead: true })
    rule(sheet)
  }
  makeRoom(sheet, 3 * ROW)
  head()
  for (const [i, row] of rows.entries()) {
    if (makeRoom(sheet, row.below === undefined ? ROW : 2 * ROW)) head()
    const isSum = i === rows.length - 1
    if (isSum) rule(sheet)
    putCells(sheet, columns, row.cells, { font: isSum ? "bold" : "plain" })
    if (row.below !== undefined) putBelow(sheet, row.below)
  }
}

function putCells(
  sheet: Sheet,
  columns: readonly PageColumn[],
  row: readonly string[],
  { font, isHead = false }: { readonly font: "plain" | "bold"; readonly isHead?: boolean },
): void {
  sheet.doc.fontSize(CELL)
  let x = MARGIN
  for (const [i, { share, align }] of columns.entries()) {
    // Numbers of a bold row would be wider, and their points out of line with those above.
    sheet.doc.font(isHead || align === "left" ? font : "plain")
    const width = share * sheet.width
    const box = { width: width - 6, height: CELL * 1.5, ellipsis: true, align }
    sheet.doc.text(shown(sheet.doc, row[i] ?? ""), x, sheet.y, box)
    x += width
  }
  sheet.y += ROW
}

/** Writes what stands below a cell, close to it. */
function putBelow(sheet: Sheet, text: string): void {
  const y = sheet.y - ROW / 4
  sheet.doc.font("plain").fontSize(SMALL).fillColor(DIM)
  sheet.doc.text(shown(sheet.doc, text), MARGIN, y, { width: sheet.width, height: SMALL * 1.5 })
  sheet.doc.fillColor(INK)
  sheet.y += ROW * 0.75
}

function rule({ doc, width, y }: Sheet): void {
  doc.moveTo(MARGIN, y - 4).lineTo(MARGIN + width, y - 4)
  doc.lineWidth(0.5).strokeColor(GREY).stroke()
}

function putFeet({ doc, width }: Sheet, foot: string): void {
  const { count } = doc.bufferedPageRange()
  const box = { width, height: SMALL * 1.5, ellipsis: true }
  for (let i = 0; i < count; i += 1) {
    doc.switchToPage(i)
    // Text below the margin would begin a page of its own.
    doc.page.margins.bottom = 0
    const y = doc.page.height - MARGIN
    doc.font("plain").fontSize(SMALL).text(foot, MARGIN, y, box)
    doc.text(`${i + 1}/${count}`, MARGIN, y + ROW, { ...box, align: "right" })
  }
}

/** The font that a document writes with, as pdfkit holds it. */
interface Written {
  readonly _font: { readonly font: { hasGlyphForCodePoint: (codePoint: number) => boolean } }
}

/** A text on one line. A character that the font does not have is named: a box would say nothing. */
function shown(doc: PDFKit.PDFDocument, text: string): string {
  // pdfkit says nowhere else what its font has.
  // eslint-disable-next-line no-underscore-dangle
  const { font } = (doc as unknown as Written)._font
  let line = ""
  for (const character of text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]/gu, " ")) {
    const point = character.codePointAt(0) ?? 0
    const name = point.toString(16).toUpperCase().padStart(4, "0")
    line += font.hasGlyphForCodePoint(point) ? character : `[U+${name}]`
  }
  return line
}
