/**
 * Plays readable tables of steps: each line is a step, and its last column is the answer.
 *
 *     when                step                                      answer
 *     2026-03-30 09:00    funds   1.00                              -> ok
 *     2026-03-30 09:00    limit   company general month 0.027       -> ok
 *     2026-03-30 09:01    charge  chg_1  key_1 of per_1  0.009      -> yes
 *
 * Instants are UTC, amounts dollars. A holder is `company`, a person or a key; a spender is `key_1 of per_1`,
 * `key_app for per_1`, `key_app shared` or `company`.
 *
 * | step | |
 * |---|---|
 * | `funds`, `correct`, `credit` AMOUNT, `prepaid`, `lock`, `unlock`, `delete`, `undelete` | the account |
 * | `limit` HOLDER CLASS PERIOD AMOUNT [`reminders` A,B] [`no keys`] · `remove` HOLDER CLASS | limits |
 * | `look` HOLDER CLASS · `look funds` | shows a limit or the funds |
 * | `charge`, `once` ID WHO AMOUNT · `rent` ID AMOUNT · `close` ID · `back` ID · `by hand` ID | charges |
 * | `call` WHO · `record` · `night` | API calls |
 * | `price` ITEM AMOUNT · `box` ID WHO · `minute` BOX N | the price book, and boxes with the price of their start |
 * | `may` KEY PURCHASE MONTH · `buy` ID KEY AMOUNT · `paid`, `failed` ID | purchases |
 * | `month` | closes past months |
 */
import type { ChargeCommand, LedgerCommand } from "../../domain/charging/ledger-commands.ts"
import type { LedgerEvent } from "../../domain/charging/ledger-events.ts"
import type { LedgerState } from "../../domain/charging/ledger-state.ts"
import { accountOf, readLimits } from "../../domain/charging/ledger-views.ts"
import { ledgerDecider } from "../../domain/charging/ledger.ts"
import type { Spender } from "../../domain/charging/limits.ts"
import type { PricedItem } from "../../domain/charging/items.ts"
import type { PriceBook } from "../../domain/charging/price-book.ts"
import { priceBookDecider, priceOfItem } from "../../domain/charging/price-book.ts"
import {
  mustFlushCalls,
  bufferServedCall,
  drainServedCalls,
} from "../../domain/charging/served-calls.ts"
import { isRefusal } from "../../domain/kernel/decider.ts"
import { formatDollars } from "../../domain/kernel/money.ts"
import { formatFact, formatUnitPrice, formatLimitReading, formatRefusal } from "./table-format.ts"
import {
  operatorRefundCommand,
  parseTableCharge,
  parseTableCommand,
  parseDollars,
  parseLimitName,
  parseSpender,
} from "./table-parser.ts"
import { decideStamped } from "../support/decider-spec.ts"

/** Replaces every answer by the ledger's own: a correct table stays unchanged. */
export function playTable(table: string): string {
  const player = new TablePlayer()
  return table
    .split("\n")
    .map((line) => {
      const [left, answer] = line.split("->")
      if (left === undefined || answer === undefined) return line
      const [day = "", time = "", step = "", ...words] = left.trim().split(/\s+/)
      return `${left}-> ${player.step(Date.parse(`${day}T${time}Z`), step, words)}`
    })
    .join("\n")
}

type Price = ReturnType<typeof priceOfItem>

class TablePlayer {
  #state: LedgerState = ledgerDecider.initial()
  #prices: PriceBook = priceBookDecider.initial()
  readonly #facts: LedgerEvent[] = []
  readonly #boxes = new Map<string, { readonly who: Spender; readonly price: Price }>()

  step(at: number, step: string, words: readonly string[]): string {
    const [first = "", second = ""] = words
    switch (step) {
      case "look":
        return this.#look(words, at)
      case "call":
        return this.#call(parseSpender(words), at)
      case "record":
        return this.#record(at)
      case "price":
        return this.#price(first as PricedItem, parseDollars(second), at)
      case "box": {
        const price = priceOfItem(this.#prices, "box_minute_small")
        this.#boxes.set(first, { who: parseSpender(words.slice(1)), price })
        return `keeps ${formatUnitPrice(price)}`
      }
      case "minute":
        return this.#minute(first, second, at)
      case "by":
        return this.#decide(operatorRefundCommand(this.#facts, second), at)
      case "once":
        return this.#decide(
          { ...parseTableCharge(words), searchedUpTo: this.#facts.length - 1 },
          at,
        )
      default:
        return this.#decide(parseTableCommand(step, words), at)
    }
  }

  /** Decides as the runner does: buffered calls are stored before the command's facts. */
  #decide(command: LedgerCommand, at: number): string {
    const flushed = mustFlushCalls(this.#state, at) ? [this.#record(at)] : []
    const answer = decideStamped(ledgerDecider, { ...command, at }, this.#state)
    if (isRefusal(answer)) return [...flushed, formatRefusal(answer)].join(", ")
    if (answer.length === 0) return [...flushed, "nothing new"].join(", ")
    const drained = drainServedCalls(this.#state)
    if (drained !== null) flushed.push(this.#decide(drained, at))
    const facts =
      drained === null ? answer : decideStamped(ledgerDecider, { ...command, at }, this.#state)
    if (isRefusal(facts)) return [...flushed, formatRefusal(facts)].join(", ")
    this.#fold(facts)
    return [...flushed, ...facts.map(formatFact)].join(", ")
  }

  /** Charges a box's minute at the price of the box's start. */
  #minute(boxId: string, minute: string, at: number): string {
    const box = this.#boxes.get(boxId)
    if (box === undefined) throw new Error(`no such box: ${boxId}`)
    const amount = formatDollars(box.price.unitPriceMicros)
    const charge: ChargeCommand = {
      ...parseTableCharge([`${boxId}:${minute}`, "company", amount]),
      isPending: false,
    }
    const answer = this.#decide({ ...charge, ...box.who, ...box.price }, at)
    return answer === "yes" ? `yes, ${formatUnitPrice(box.price)}` : answer
  }

  #fold(facts: readonly LedgerEvent[]): void {
    this.#facts.push(...facts)
    for (const fact of facts) this.#state = ledgerDecider.evolve(this.#state, fact)
  }

  #record(at: number): string {
    const drained = drainServedCalls(this.#state)
    return drained === null ? "nothing new" : this.#decide(drained, at)
  }

  #call(who: Spender, at: number): string {
    if (who.via !== "own_key" && who.via !== "app_key") throw new Error("a call needs a key")
    const flushed = mustFlushCalls(this.#state, at) ? `${this.#record(at)}, ` : ""
    const refused = bufferServedCall(
      this.#state,
      { ...who, ...priceOfItem(this.#prices, "api_call") },
      at,
    )
    return flushed + (refused === null ? "served" : `no: ${formatLimitReading(refused)}`)
  }

  #price(item: PricedItem, unitPriceMicros: number, at: number): string {
    const answer = decideStamped(
      priceBookDecider,
      { type: "SetPrice", item, unitPriceMicros, at },
      this.#prices,
    )
    for (const fact of isRefusal(answer) ? [] : answer) {
      this.#prices = priceBookDecider.evolve(this.#prices, fact)
    }
    return formatUnitPrice(priceOfItem(this.#prices, item))
  }

  #look(words: readonly string[], at: number): string {
    if (words[0] === "funds") return formatDollars(accountOf(this.#state).fundsMicros)
    const name = parseLimitName(words)
    const found = readLimits(this.#state, at).find((limit) => {
      return limit.holderId === name.holderId && limit.class === name.class
    })
    return found === undefined ? "no limit" : formatLimitReading(found)
  }
}
