/**
 * A bill as a journal of hledger (plain text accounting), complete in itself: accounts and commodity
 * are declared, it opens with the funds of the month's beginning, each transaction says what funds it
 * leaves, and the last but one what they came to. `hledger check --strict` passes.
 *
 * The funds come from equity at the month's first moment and go back there on the day after its last:
 * so months hold together in any number and in any way of giving them to hledger, and none of them
 * counts what another one left. Funds are asked for with an end (`-e`, the day after).
 *
 * Spending is an expense by class and item, an account for each. Whatever text somebody chose stands
 * where it can end neither a line nor a comment, and names an account in what has no meaning there.
 */
import { PRICED_ITEMS } from "../../domain/charging/items.ts"
import { formatInstant } from "../../domain/kernel/instant.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import { formatDollars } from "../../domain/kernel/money.ts"
import { resourceId } from "../../domain/kernel/resource.ts"
import type { BillLine } from "../../projections/charging/billing-lines.ts"
import type { BillHead, BillWriter } from "./bill.ts"
import { formatBillHead } from "./bill.ts"

const FUNDS_ACCOUNT = "assets:funds"
const OPENING_ACCOUNT = "equity:opening"
/** Where what is no spending comes from. */
const SOURCE_ACCOUNTS = {
  purchase: "assets:payments",
  funds_added: "income:credits",
  funds_corrected: "equity:corrections",
} as const
/** Items can have any name, so no more than this many have accounts of their own. */
const MAX_ACCOUNTS = 10_000
const OTHER_ITEM = "other"
const ACCOUNTS: readonly string[] = [
  FUNDS_ACCOUNT,
  OPENING_ACCOUNT,
  ...Object.values(SOURCE_ACCOUNTS),
  ...["ai", "general"].flatMap((spent) =>
    [...PRICED_ITEMS, OTHER_ITEM].map((item) => `expenses:${spent}:${item}`),
  ),
]

/** Writes a bill as a journal. */
export function hledgerWriter(head: BillHead): BillWriter {
  const { companyId, month, state, openingMicros, from, until } = head
  let funds = openingMicros
  let lastDay = dayOf(from)
  const accounts = new Set(ACCOUNTS)
  return {
    begin: () => {
      const declared = ACCOUNTS.map((account) => `account ${account}\n`).join("")
      const opening = transaction(lastDay, `Funds at the beginning of ${month}`, [
        posting(FUNDS_ACCOUNT, openingMicros, openingMicros),
        posting(OPENING_ACCOUNT, 0 - openingMicros),
      ])
      const title = `; Bill of ${companyId} for ${month}: ${state}\n; ${formatBillHead(head)}\n\n`
      return `${title}commodity USD 1000.000000\n\n${declared}\n${opening}`
    },
    lines: (lines) => {
      let text = ""
      for (const line of lines) {
        const { amountMicros } = line
        funds += amountMicros
        lastDay = dayOf(line.at)
        const account = counterAccountOf(line, accounts)
        if (!accounts.has(account)) text += `account ${account}\n\n`
        accounts.add(account)
        text += transaction(lastDay, `(${companyId}:${line.revision}) ${titleOf(line)}`, [
          posting(account, 0 - amountMicros),
          posting(FUNDS_ACCOUNT, amountMicros, funds),
        ])
      }
      return text
    },
    end: () =>
      transaction(lastDay, `Funds at the end of ${month}: ${state}`, [
        posting(FUNDS_ACCOUNT, 0, funds),
      ]) +
      transaction(dayOf(until), `Funds carried on from ${month}`, [
        posting(FUNDS_ACCOUNT, 0 - funds, 0),
        posting(OPENING_ACCOUNT, funds),
      ]),
  }
}

function dayOf(at: number): string {
  return formatInstant(at).slice(0, 10)
}

function transaction(day: string, title: string, postings: readonly string[]): string {
  return `${day} * ${title}\n${postings.join("")}\n`
}

/** One side of a transaction; with what it leaves in the account where that is to be held. */
function posting(account: string, amountMicros: Micros, leavesMicros?: Micros): string {
  const held = leavesMicros === undefined ? "" : ` = USD ${formatDollars(leavesMicros)}`
  return `    ${account}  USD ${formatDollars(amountMicros)}${held}\n`
}

function counterAccountOf(
  { kind, item, class: spent }: BillLine,
  accounts: ReadonlySet<string>,
): string {
  if (kind === "purchase" || kind === "funds_added" || kind === "funds_corrected") {
    return SOURCE_ACCOUNTS[kind]
  }
  const account = `expenses:${spent}:${accountName(item)}`
  const hasRoom = accounts.has(account) || accounts.size < MAX_ACCOUNTS
  return hasRoom ? account : `expenses:${spent}:${OTHER_ITEM}`
}

/**
 * An item as the name of an account, another for each: letters, digits and what has no meaning there
 * stand as they are, single spaces too; all else is escaped by its UTF-8 bytes, as in an address.
 */
function accountName(item: string): string {
  return item
    .toWellFormed()
    .replaceAll(/[^\p{L}\p{M}\p{N} _.,'/+@&-]|^ | $|(?<= ) /gu, (found) =>
      [...new TextEncoder().encode(found)]
        .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`)
        .join(""),
    )
}

/** What was bought or moved, what for, and its names as tags. */
function titleOf(line: BillLine): string {
  const { kind, item, resource, description } = line
  const tags = {
    kind,
    charge: line.chargeId,
    corrects: line.corrects,
    quantity: line.quantity,
    key: line.keyId,
    person: line.personId,
    resource: resource === "" ? "" : resourceId(resource),
  }
  const said = Object.entries(tags)
    .filter(([, value]) => value !== "")
    .map(([name, value]) => `${name}:${tagValue(value)}`)
  const what = item === "" ? kind.replace("_", " ") : item
  const title = sanitizeTitle(description === "" ? what : `${what}: ${description}`)
  return `${title}  ; ${said.join(", ")}`
}

/** A text in a title: nothing in it ends the line, begins a comment or is read as a date. */
function sanitizeTitle(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp};|[\]]/gu, " ").trim()
}

/** A text in a tag, which a comma ends: any but plain characters are escaped as in an address. */
function tagValue(text: string): string {
  return /^[\w.:@+/-]*$/.test(text) ? text : encodeURIComponent(text.toWellFormed())
}
