/**
 * Plays tables of steps that a person can read: a line is a step, its last column the answer.
 *
 *     when                step                                      answer
 *     2026-03-30 09:00    funds   1.00                              -> ok
 *     2026-03-30 09:00    limit   company general month 0.027       -> ok
 *     2026-03-30 09:01    charge  chg_1  key_1 of per_1  0.009      -> yes
 *
 * Instants are UTC, amounts dollars. A holder is `company`, a person or a key; who spends is
 * `key_1 of per_1`, `key_app for per_1`, `key_app shared` or `company`.
 *
 * | step | |
 * |---|---|
 * | `funds`, `correct`, `credit` AMOUNT, `prepaid`, `lock`, `unlock`, `delete`, `undelete` | the account |
 * | `limit` HOLDER CLASS PERIOD AMOUNT [`reminders` A,B] [`no keys`] · `remove` HOLDER CLASS | limits |
 * | `look` HOLDER CLASS · `look funds` | what is there |
 * | `charge`, `once` ID WHO AMOUNT · `rent` ID AMOUNT · `close` ID · `back` ID · `by hand` ID | charges |
 * | `call` WHO · `record` · `night` | calls of the API |
 * | `price` ITEM AMOUNT · `box` ID WHO · `minute` BOX N | the price book, and boxes that keep their price |
 * | `may` KEY PURCHASE MONTH · `buy` ID KEY AMOUNT · `paid`, `failed` ID | purchases |
 * | `month` | closes the months that are over |
 */
import type { Charge, LedgerCommand } from "../../domain/charging/ledger-commands.ts"
import type { LedgerEvent } from "../../domain/charging/ledger-formats.ts"
import type { Ledger } from "../../domain/charging/ledger-state.ts"
import { accountOf, readLimits } from "../../domain/charging/ledger-views.ts"
import { ledger } from "../../domain/charging/ledger.ts"
import type { Spender } from "../../domain/charging/limits.ts"
import type { PricedItem } from "../../domain/charging/items.ts"
import type { PriceBook } from "../../domain/charging/price-book.ts"
import { priceBook, priceOf } from "../../domain/charging/price-book.ts"
import { mustRecordCalls, serveCall, takeServedCalls } from "../../domain/charging/served-calls.ts"
import { isRefusal } from "../../domain/kernel/decider.ts"
import { dollarText } from "../../domain/kernel/money.ts"
import { factText, priceText, readingText, refusalText } from "./table-answers.ts"
import { backByHand, chargeOf, commandOf, micros, nameOf, spenderOf } from "./table-words.ts"
import { decideStamped } from "../support/spec.ts"

/** The table with every answer as the ledger gives it: equal to the table, where it is right. */
export function playTable(table: string): string {
  const player = new Player()
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

type Price = ReturnType<typeof priceOf>

class Player {
  #state: Ledger = ledger.initial()
  #prices: PriceBook = priceBook.initial()
  readonly #facts: LedgerEvent[] = []
  readonly #boxes = new Map<string, { readonly who: Spender; readonly price: Price }>()

  /** The answer to a step. */
  step(at: number, step: string, words: readonly string[]): string {
    const [first = "", second = ""] = words
    switch (step) {
      case "look":
        return this.#look(words, at)
      case "call":
        return this.#call(spenderOf(words), at)
      case "record":
        return this.#record(at)
      case "price":
        return this.#price(first as PricedItem, micros(second), at)
      case "box": {
        const price = priceOf(this.#prices, "box_minute_small")
        this.#boxes.set(first, { who: spenderOf(words.slice(1)), price })
        return `keeps ${priceText(price)}`
      }
      case "minute":
        return this.#minute(first, second, at)
      case "by":
        return this.#decide(backByHand(this.#facts, second), at)
      case "once":
        return this.#decide({ ...chargeOf(words), searchedTo: this.#facts.length - 1 }, at)
      default:
        return this.#decide(commandOf(step, words), at)
    }
  }

  /** Decides as the writer does: what is gathered leads what is recorded. */
  #decide(command: LedgerCommand, at: number): string {
    const led = mustRecordCalls(this.#state, at) ? [this.#record(at)] : []
    const answer = decideStamped(ledger, { ...command, at }, this.#state)
    if (isRefusal(answer)) return [...led, refusalText(answer)].join(", ")
    if (answer.length === 0) return [...led, "nothing new"].join(", ")
    const taken = takeServedCalls(this.#state)
    if (taken !== null) led.push(this.#decide(taken, at))
    const facts = taken === null ? answer : decideStamped(ledger, { ...command, at }, this.#state)
    if (isRefusal(facts)) return [...led, refusalText(facts)].join(", ")
    this.#fold(facts)
    return [...led, ...facts.map(factText)].join(", ")
  }

  /** A box's minute: it keeps the price of the box's start. */
  #minute(boxId: string, minute: string, at: number): string {
    const box = this.#boxes.get(boxId)
    if (box === undefined) throw new Error(`no such box: ${boxId}`)
    const amount = dollarText(box.price.unitPriceMicros)
    const charge: Charge = {
      ...chargeOf([`${boxId}:${minute}`, "company", amount]),
      isPending: false,
    }
    const answer = this.#decide({ ...charge, ...box.who, ...box.price }, at)
    return answer === "yes" ? `yes, ${priceText(box.price)}` : answer
  }

  #fold(facts: readonly LedgerEvent[]): void {
    this.#facts.push(...facts)
    for (const fact of facts) this.#state = ledger.evolve(this.#state, fact)
  }

  #record(at: number): string {
    const taken = takeServedCalls(this.#state)
    return taken === null ? "nothing new" : this.#decide(taken, at)
  }

  #call(who: Spender, at: number): string {
    if (who.via !== "own_key" && who.via !== "app_key") throw new Error("a call needs a key")
    const led = mustRecordCalls(this.#state, at) ? `${this.#record(at)}, ` : ""
    const refused = serveCall(this.#state, { ...who, ...priceOf(this.#prices, "api_call") }, at)
    return led + (refused === null ? "served" : `no: ${readingText(refused)}`)
  }

  #price(item: PricedItem, unitPriceMicros: number, at: number): string {
    const answer = decideStamped(
      priceBook,
      { type: "SetPrice", item, unitPriceMicros, at },
      this.#prices,
    )
    for (const fact of isRefusal(answer) ? [] : answer) {
      this.#prices = priceBook.evolve(this.#prices, fact)
    }
    return priceText(priceOf(this.#prices, item))
  }

  #look(words: readonly string[], at: number): string {
    if (words[0] === "funds") return dollarText(accountOf(this.#state).fundsMicros)
    const name = nameOf(words)
    const found = readLimits(this.#state, at).find((limit) => {
      return limit.holderId === name.holderId && limit.class === name.class
    })
    return found === undefined ? "no limit" : readingText(found)
  }
}
