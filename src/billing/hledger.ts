/**
 * Writes a bill as a complete hledger journal (plain text accounting): accounts and commodity are
 * declared, and each transaction asserts the funds it leaves. `hledger check --strict` passes.
 *
 * The funds come from equity at the month's start and return there on the day after its end, so
 * months can be combined in any order and none counts another's funds. Query funds with an end date
 * (`-e`, the day after).
 *
 * Spending is an expense account per class and item. Free text is escaped so that it cannot end a
 * line or a comment.
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
/** The source accounts of movements that are not spending. */
const SOURCE_ACCOUNTS = {
  purchase: "assets:payments",
  funds_added: "income:credits",
  funds_corrected: "equity:corrections",
} as const
/** Items can have any name, so the number of accounts is limited. */
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

/** One posting of a transaction, with the balance to assert if there is one. */
function posting(account: string, amountMicros: Micros, leavesMicros?: Micros): string {
  const assertion = leavesMicros === undefined ? "" : ` = USD ${formatDollars(leavesMicros)}`
  return `    ${account}  USD ${formatDollars(amountMicros)}${assertion}\n`
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
 * Escapes an item for an account name, uniquely: letters, digits, harmless characters and single
 * spaces stay, all else is percent-encoded.
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

/** The item or movement, its reason, and its ids as tags. */
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
  const tagTexts = Object.entries(tags)
    .filter(([, value]) => value !== "")
    .map(([name, value]) => `${name}:${tagValue(value)}`)
  const subject = item === "" ? kind.replace("_", " ") : item
  const title = sanitizeTitle(description === "" ? subject : `${subject}: ${description}`)
  return `${title}  ; ${tagTexts.join(", ")}`
}

/** Removes characters that would end the line, begin a comment or be read as a date. */
function sanitizeTitle(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp};|[\]]/gu, " ").trim()
}

/** Escapes a tag's value, which a comma would end. */
function tagValue(text: string): string {
  return /^[\w.:@+/-]*$/.test(text) ? text : encodeURIComponent(text.toWellFormed())
}
