/**
 * A month's bill as a statement to send: who bills whom, its number and date, the funds from beginning
 * to end, and what was spent, by item, person, key and class.
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

/** Names as a statement shows them; null where only the id is left. */
interface StatementNames {
  readonly company: string | null
  readonly person: (personId: string) => string | null
  /** What a key is labelled; null also where it has no label. */
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
  { title: "Day, and what for", holds: "names" },
  { title: "US dollars", holds: "amounts" },
]
const spendingColumns = (title: string): readonly PageColumn[] => [
  { title, holds: "names" },
  { title: "Charges", holds: "amounts" },
  { title: "Charged", holds: "amounts" },
  { title: "Given back", holds: "amounts" },
  { title: "Spent", holds: "amounts" },
]

/** Writes a bill as a statement in PDF. */
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
  // It is sealed with the first fact of the next month.
  pages.line(`Date: ${state === "closed" ? `1 ${monthOf(until)}` : "none yet"}`)
  pages.line(`For: 1 to ${last} ${monthOf(from)}, UTC`)
  pages.line(
    state === "closed"
      ? "This month is closed: this statement does not change any more."
      : "This month is still open: this is what there is so far.",
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
    ["Given back", sums.reducedMicros],
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
  give_back: "Given back",
}

/** What moved the funds, and what for. */
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
  pages.heading("What moved the funds")
  pages.table(MOVEMENT_COLUMNS, [
    ...rows.map((move) => ({ ...rowOf(movementText(move), move.amountMicros), ...idsOf(move) })),
    ...(othersMicros === null ? [] : [rowOf(OTHERS_ROW, others)]),
    rowOf("Total", total),
  ])
}

function movementText({ day, kind, description }: FundsMovement): string {
  const isSaid = description !== "" && kind !== "purchase"
  return `${day}: ${MOVEMENT_LABELS[kind]}${isSaid ? `, ${description}` : ""}`
}

/** The ids of a purchase and of its payment stand below it, whole. */
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

/** A person's name, however long, and below it the id, which is never cut off. */
function personCell(
  personId: string,
  names: StatementNames,
): readonly [name: string, below?: string] {
  if (personId === "") return ["The company itself"]
  if (personId === OTHERS_ROW) return [OTHERS_ROW]
  const name = names.person(personId)
  return name === null ? ["", personId] : [name, personId]
}

/** A key's label and below it the id, as of a person; of one without a label the id alone. */
function keyCell(keyId: string, names: StatementNames): readonly [name: string, below?: string] {
  if (keyId === "") return ["No key"]
  const label = keyId === OTHERS_ROW ? null : names.key(keyId)
  return label === null ? [keyId] : [label, keyId]
}

/** How many decimals the amounts of a statement have: as many as any of them needs, so that points align. */
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

/** Dollars with their thousands apart, exact. */
function formatDollars(micros: Micros, decimals: number): string {
  const [whole = "", part = ""] = formatMoney(micros).split(".")
  return `${whole.replaceAll(/\B(?=(?:\d{3})+$)/g, ",")}.${part.padEnd(decimals, "0")}`
}

/** Reads the names that stood at a place of the global order; null for those that stand now. */
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
  // An id says whose it is, so that people and keys need not be told apart.
  const names = new Map<string, string | null>(named)
  return {
    company: company === null ? null : await open(company),
    person: (personId) => names.get(personId) ?? null,
    key: (keyId) => names.get(keyId) ?? null,
  }
}
