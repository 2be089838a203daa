/**
 * A month's bill as a statement to send: the company, the period, the funds from beginning to end,
 * and what was spent, by item and by person.
 */
import type { Micros } from "../../domain/kernel/money.ts"
import { moneyText } from "../../domain/kernel/money.ts"
import type { BillHead, BillWriter } from "./bill.ts"
import { headText } from "./bill.ts"
import type { BillPorts, OpenedBill } from "./open-bill.ts"
import type { StatementNames } from "./statement-names.ts"
import { statementNames } from "./statement-names.ts"
import type { PageColumn, Pages } from "./statement-pages.ts"
import { openPages } from "./statement-pages.ts"
import type { Spending } from "./statement.ts"
import { netMicros, openSpending, OTHERS } from "./statement.ts"

const MONTHS = [
  ...["January", "February", "March", "April", "May", "June", "July", "August", "September"],
  ...["October", "November", "December"],
]
const FUNDS_COLUMNS: readonly PageColumn[] = [
  { title: "Funds", share: 0.7, align: "left" },
  { title: "US dollars", share: 0.3, align: "right" },
]
const spendingColumns = (title: string): readonly PageColumn[] => [
  { title, share: 0.46, align: "left" },
  { title: "Charges", share: 0.12, align: "right" },
  { title: "Charged", share: 0.14, align: "right" },
  { title: "Given back", share: 0.14, align: "right" },
  { title: "Spent", share: 0.14, align: "right" },
]

/** Writes a bill as a statement in PDF. */
export async function statementWriter(
  { head, closedAt }: OpenedBill,
  ports: BillPorts,
): Promise<BillWriter> {
  const names = await statementNames(ports, head.companyId, closedAt)
  const spending = openSpending()
  return {
    begin: () => "",
    lines: (lines) => {
      spending.add(lines)
      return ""
    },
    end: () => {
      const { byItem, byPerson } = spending.spent()
      const pages = openPages(
        titleOf(head),
        new Date(head.state === "closed" ? head.until : head.from),
      )
      writeHead(pages, head, names)
      writeFunds(pages, head)
      pages.heading("Spending by item")
      writeSpending(pages, "Item", byItem, (name) => name)
      pages.heading("Spending by person")
      writeSpending(pages, "Person", byPerson, (name) => personOf(name, names))
      return pages.end(`Ends at ${headText(head)}`)
    },
  }
}

const titleOf = ({ companyId, month }: BillHead): string => `Statement ${month} of ${companyId}`

function writeHead(pages: Pages, head: BillHead, names: StatementNames): void {
  const { companyId, from, until, state } = head
  const [first, last] = [new Date(from), new Date(until - 1)]
  const month = `${MONTHS[first.getUTCMonth()]} ${first.getUTCFullYear()}`
  pages.title("Statement")
  pages.line(names.company === null ? companyId : `${names.company} (${companyId})`)
  pages.line(`1 to ${last.getUTCDate()} ${month}, UTC`)
  pages.line(
    state === "closed"
      ? "This month is closed: this statement does not change any more."
      : "This month is still open: this is what there is so far.",
  )
}

function writeFunds(pages: Pages, head: BillHead): void {
  const { openingMicros, closingMicros, sums, from, until, state } = head
  const day = (at: number) => new Date(at).toISOString().slice(0, 10)
  const charges = sums.charges === 1 ? "charge" : "charges"
  const moved: readonly (readonly [string, Micros])[] = [
    ["Funds bought", sums.purchasedMicros],
    ["Funds added", sums.addedMicros],
    ["Funds corrected", sums.correctedMicros],
    [`Charged (${sums.charges.toLocaleString("en-US")} ${charges})`, 0 - sums.chargedMicros],
    ["Given back", sums.givenBackMicros],
  ]
  const closing = state === "closed" ? `Closing funds, ${day(until - 1)}` : "Closing funds so far"
  pages.heading("Funds")
  pages.table(FUNDS_COLUMNS, [
    [`Opening funds, ${day(from)}`, dollars(openingMicros)],
    ...moved.filter(([, micros]) => micros !== 0).map(([name, micros]) => [name, dollars(micros)]),
    [closing, dollars(closingMicros)],
  ])
}

function writeSpending(
  pages: Pages,
  title: string,
  spent: readonly Spending[],
  nameOf: (name: string) => string,
): void {
  if (spent.length === 0) return pages.line("Nothing was spent.")
  const sum = (of: (row: Spending) => number) => spent.reduce((total, row) => total + of(row), 0)
  const total = {
    name: "Total",
    charges: sum((row) => row.charges),
    chargedMicros: sum((row) => row.chargedMicros),
    givenBackMicros: sum((row) => row.givenBackMicros),
  }
  const cells = (row: Spending, name: string) => [
    name,
    row.charges.toLocaleString("en-US"),
    dollars(row.chargedMicros),
    dollars(row.givenBackMicros),
    dollars(netMicros(row)),
  ]
  const rows = spent.map((row) => cells(row, nameOf(row.name)))
  pages.table(spendingColumns(title), [...rows, cells(total, total.name)])
}

function personOf(personId: string, names: StatementNames): string {
  if (personId === "") return "The company itself"
  if (personId === OTHERS) return OTHERS
  const name = names.person(personId)
  return name === null ? personId : `${name} (${personId})`
}

/** Dollars with their thousands apart, exact. */
function dollars(micros: Micros): string {
  return moneyText(micros).replaceAll(/\B(?=(?:\d{3})+\.)/g, ",")
}
