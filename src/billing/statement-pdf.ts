/**
 * Writes a month's bill as a PDF statement: issuer and company, number and date, the funds from
 * opening to closing, and the spending by item, person, key and class.
 */
import type { Micros } from "../../domain/kernel/money.ts"
import { formatMoney } from "../../domain/kernel/money.ts"
import type { BillHead, BillWriter } from "./bill.ts"
import { formatBillHead } from "./bill.ts"
import { itemLabelOf } from "../../domain/charging/items.ts"
import type { BillPorts, OpenedBill } from "./open-bill.ts"
import type { PageColumn, PageRow, StatementPages } from "./statement-pages.ts"
import { openStatementPages } from "./statement-pages.ts"
import type { FundsMovement, FundsMovements, StatementSpending } from "./statement.ts"
import { openFundsMovements, netMicros, openSpendingTotals, OTHERS_ROW } from "./statement.ts"
import { accessStreamOf } from "../../domain/access/aggregates.ts"
import type { Position } from "../../adapters/eventstore/port.ts"
import { comparePositions } from "../../adapters/eventstore/port.ts"
import type { CompanyId, KeyId, PersonId, SealedText } from "../../domain/kernel/ids.ts"
import { CHAIN_START, nextHash } from "../frame/writer/runner/load.ts"

/** Names in a statement; null if only the id is left. */
interface StatementNames {
  readonly company: string | null
  readonly person: (personId: string) => string | null
  /** The label of a key; null if it has none. */
  readonly key: (keyId: string) => string | null
}

const MONTHS = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
]
const FUNDS_COLUMNS: readonly PageColumn[] = [
  { title: "Funds", holds: "names" },
  { title: "US dollars", holds: "amounts" },
]
const MOVEMENT_COLUMNS: readonly PageColumn[] = [
  { title: "Day and purpose", holds: "names" },
  { title: "US dollars", holds: "amounts" },
]
const spendingColumns = (title: string): readonly PageColumn[] => [
  { title, holds: "names" },
  { title: "Charges", holds: "amounts" },
  { title: "Charged", holds: "amounts" },
  { title: "Refunded", holds: "amounts" },
  { title: "Spent", holds: "amounts" },
]

/** Writes a bill as a PDF statement. */
export async function statementWriter(
  { head, closedAt }: OpenedBill,
  ports: BillPorts,
): Promise<BillWriter> {
  const names = await statementNames(ports, head.companyId, closedAt)
  const spending = openSpendingTotals()
  const funds = openFundsMovements()
  return {
    begin: () => "",
    lines: (lines) => {
      spending.add(lines)
      funds.add(lines)
      return ""
    },
    end: () => {
      const { byItem, byPerson, byKey, byClass } = spending.totals()
      const moved = funds.totals()
      const decimals = decimalPlaces(head, [byItem, byPerson, byKey, byClass].flat(), moved)
      const pages = openStatementPages(
        titleOf(head),
        new Date(head.state === "closed" ? head.until : head.from),
      )
      writeHead(pages, head, names)
      writeFunds(pages, head, decimals)
      writeMovements(pages, moved, decimals)
      pages.heading("Spending by item")
      writeSpending(pages, "Item", byItem, decimals, (name) => [itemLabelOf(name)])
      pages.heading("Spending by person")
      writeSpending(pages, "Person", byPerson, decimals, (name) => personCell(name, names))
      pages.heading("Spending by key")
      writeSpending(pages, "Key", byKey, decimals, (name) => keyCell(name, names))
      pages.heading("Spending by class")
      writeSpending(pages, "Class", byClass, decimals, (name) => [CLASSES[name] ?? name])
      return pages.end(`Ends at ${formatBillHead(head)}`)
    },
  }
}

const CLASSES: Readonly<Record<string, string>> = { ai: "AI models", general: "Everything else" }

const titleOf = ({ companyId, month }: BillHead): string => `Statement ${month} of ${companyId}`

function writeHead(pages: StatementPages, head: BillHead, names: StatementNames): void {
  const { companyId, issuer, from, until, state } = head
  const last = new Date(until - 1).getUTCDate()
  pages.title("Statement")
  pages.line(`From: ${issuer}`)
  pages.line(`To: ${names.company === null ? companyId : `${names.company} (${companyId})`}`)
  pages.line(`Number: ${companyId}-${head.month}`)
  // The first fact of the next month closes the month.
  pages.line(`Date: ${state === "closed" ? `1 ${monthOf(until)}` : "none yet"}`)
  pages.line(`For: 1 to ${last} ${monthOf(from)}, UTC`)
  pages.line(
    state === "closed"
      ? "This month is closed. This statement will not change."
      : "This month is open. This statement shows the amounts so far.",
  )
}

function monthOf(at: number): string {
  const day = new Date(at)
  return `${MONTHS[day.getUTCMonth()]} ${day.getUTCFullYear()}`
}

function writeFunds(pages: StatementPages, head: BillHead, decimals: number): void {
  const { openingMicros, closingMicros, sums, from, until, state } = head
  const day = (at: number) => new Date(at).toISOString().slice(0, 10)
  const charges = sums.charges === 1 ? "charge" : "charges"
  const moved: readonly (readonly [string, Micros])[] = [
    ["Funds bought", sums.purchasedMicros],
    ["Funds added", sums.addedMicros],
    ["Funds corrected", sums.correctedMicros],
    [`Charged (${sums.charges.toLocaleString("en-US")} ${charges})`, 0 - sums.chargedMicros],
    ["Refunded", sums.reducedMicros],
  ]
  const closing = state === "closed" ? `Closing funds, ${day(until - 1)}` : "Closing funds so far"
  pages.heading("Funds")
  const rows = [
    [`Opening funds, ${day(from)}`, openingMicros] as const,
    ...moved.filter(([, micros]) => micros !== 0),
    [closing, closingMicros] as const,
  ]
  pages.table(
    FUNDS_COLUMNS,
    rows.map(([name, micros]) => ({ cells: [name, formatDollars(micros, decimals)] })),
  )
}

const MOVEMENT_LABELS: Readonly<Record<FundsMovement["kind"], string>> = {
  purchase: "Funds bought",
  funds_added: "Funds added",
  funds_corrected: "Funds corrected",
  give_back: "Refunded",
}

function writeMovements(
  pages: StatementPages,
  { rows, othersMicros }: FundsMovements,
  decimals: number,
): void {
  if (rows.length === 0) return
  const others = othersMicros ?? 0
  const total = rows.reduce((sum, { amountMicros }) => sum + amountMicros, others)
  const rowOf = (name: string, micros: Micros): PageRow => {
    return { cells: [name, formatDollars(micros, decimals)] }
  }
  pages.heading("Movements of the funds")
  pages.table(MOVEMENT_COLUMNS, [
    ...rows.map((move) => ({ ...rowOf(movementText(move), move.amountMicros), ...idsOf(move) })),
    ...(othersMicros === null ? [] : [rowOf(OTHERS_ROW, others)]),
    rowOf("Total", total),
  ])
}

function movementText({ day, kind, description }: FundsMovement): string {
  const hasReason = description !== "" && kind !== "purchase"
  return `${day}: ${MOVEMENT_LABELS[kind]}${hasReason ? `, ${description}` : ""}`
}

/** The full ids of a purchase and its payment go below it. */
function idsOf({ kind, purchaseId, description }: FundsMovement): Pick<PageRow, "subtext"> {
  return kind === "purchase" ? { subtext: `${purchaseId}, payment ${description}` } : {}
}

function writeSpending(
  pages: StatementPages,
  title: string,
  spent: readonly StatementSpending[],
  decimals: number,
  nameOf: (name: string) => readonly [name: string, below?: string],
): void {
  if (spent.length === 0) return pages.line("Nothing was spent.")
  const sum = (of: (row: StatementSpending) => number) =>
    spent.reduce((total, row) => total + of(row), 0)
  const total = {
    name: "Total",
    charges: sum((row) => row.charges),
    chargedMicros: sum((row) => row.chargedMicros),
    refundedMicros: sum((row) => row.refundedMicros),
  }
  const rowOf = (row: StatementSpending, [name, subtext]: readonly [string, string?]): PageRow => {
    const money = [row.chargedMicros, row.refundedMicros, netMicros(row)]
    const amounts = money.map((micros) => formatDollars(micros, decimals))
    const cells = [name, row.charges.toLocaleString("en-US"), ...amounts]
    return subtext === undefined ? { cells } : { cells, subtext }
  }
  const rows = spent.map((row) => rowOf(row, nameOf(row.name)))
  pages.table(spendingColumns(title), [...rows, rowOf(total, [total.name])])
}

/** A person's name, with the full id below it. */
function personCell(
  personId: string,
  names: StatementNames,
): readonly [name: string, below?: string] {
  if (personId === "") return ["The company itself"]
  if (personId === OTHERS_ROW) return [OTHERS_ROW]
  const name = names.person(personId)
  return name === null ? ["", personId] : [name, personId]
}

/** A key's label with the id below it; without a label, only the id. */
function keyCell(keyId: string, names: StatementNames): readonly [name: string, below?: string] {
  if (keyId === "") return ["No key"]
  const label = keyId === OTHERS_ROW ? null : names.key(keyId)
  return label === null ? [keyId] : [label, keyId]
}

/**
 * Number of decimals in a statement: as many as the most precise amount needs, so that the points
 * align.
 */
function decimalPlaces(
  head: BillHead,
  spent: readonly StatementSpending[],
  { rows }: FundsMovements,
): number {
  const { openingMicros, closingMicros, sums } = head
  const { charges: _count, ...moved } = sums
  const spending = spent.flatMap(({ chargedMicros, refundedMicros }) => [
    chargedMicros,
    refundedMicros,
  ])
  const single = rows.map(({ amountMicros }) => amountMicros)
  const all = [openingMicros, closingMicros, ...Object.values(moved), ...spending, ...single]
  return Math.max(...all.map((micros) => (formatMoney(micros).split(".")[1] ?? "").length))
}

/** Formats dollars exactly, with thousands separators. */
function formatDollars(micros: Micros, decimals: number): string {
  const [whole = "", part = ""] = formatMoney(micros).split(".")
  return `${whole.replaceAll(/\B(?=(?:\d{3})+$)/g, ",")}.${part.padEnd(decimals, "0")}`
}

/** Reads the names as of a position in the global order; null reads the current names. */
async function statementNames(
  { store, sealing, streams }: Pick<BillPorts, "store" | "sealing" | "streams">,
  companyId: CompanyId,
  at: Position | null,
): Promise<StatementNames> {
  let company: SealedText | null = null
  const sealed = new Map<PersonId | KeyId, SealedText>()
  let end = CHAIN_START
  for await (const page of store.read(accessStreamOf(companyId).stream)) {
    for (const stored of page) {
      end = { revision: stored.revision, hash: nextHash(stored, end) }
      if (at !== null && comparePositions(stored.position, at) > 0) continue
      const { fact } = streams.toRecorded(stored)
      if (fact.type === "CompanyOpened") company = fact.name
      const isNamed = fact.type === "PersonAdded" || fact.type === "PersonChanged"
      if (isNamed && fact.name !== null) sealed.set(fact.personId, fact.name)
      if (fact.type === "KeyCreated" && fact.label !== null) sealed.set(fact.keyId, fact.label)
    }
  }
  const open = (name: SealedText) => sealing.unseal(companyId, name)
  const named = await Promise.all(
    [...sealed].map(async ([id, name]) => [id, await open(name)] as const),
  )
  // Ids are unique across people and keys, so one map holds both.
  const names = new Map<string, string | null>(named)
  return {
    company: company === null ? null : await open(company),
    person: (personId) => names.get(personId) ?? null,
    key: (keyId) => names.get(keyId) ?? null,
  }
}
