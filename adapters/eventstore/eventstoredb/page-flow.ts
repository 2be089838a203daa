import type { StoredEvent } from "../port.ts"
import { refusal } from "./failures.ts"

/** A page is given when it has so many events, or so many characters of text. */
const PAGE_EVENTS = 500
const PAGE_CHARACTERS = 1024 * 1024

/** As much of a call as a flow uses. */
interface Source {
  readonly on: (event: "error" | "end", listener: (cause: Error) => void) => unknown
  readonly pause: () => unknown
  readonly resume: () => unknown
  readonly cancel: () => void
}

/**
 * The way of events from a call, which sends as fast as it can, to a reader who takes a page at a
 * time. One page waits; the call is paused while it is full.
 */
export class PageFlow {
  #left: number
  #source: Source | null = null
  #page: StoredEvent[] = []
  #characters = 0
  #isOver = false
  #failure: Error | null = null
  #received = 0
  #wake: () => void = () => undefined

  /** It ends by itself after `limit` events. */
  constructor(limit: number) {
    this.#left = limit
  }

  /** Takes its end and its failure from this call; pauses it, and breaks it off at the end. */
  from(source: Source): void {
    this.#source = source
    source.on("error", (cause) => this.fail(refusal(cause)))
    source.on("end", () => this.end())
  }

  /** Adds an event, unless it has ended. */
  push(event: StoredEvent): void {
    if (this.#isOver) return
    this.#received += 1
    this.#page.push(event)
    this.#characters += event.data.length + event.metadata.length
    this.#left -= 1
    if (this.#left === 0) this.end()
    if (!this.#isFull()) return
    this.#source?.pause()
    this.#wake()
  }

  /** Nothing more is wanted, or nothing more comes. */
  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    // Else the server would go on sending while the reader is busy with the last page.
    this.#source?.cancel()
    this.#wake()
  }

  /** The reader is told instead of being given what is left. */
  fail(cause: Error): void {
    if (!this.#isOver) this.#failure = cause
    this.end()
  }

  /**
   * The next page; null behind the last. `onSilence` is called whenever the reader waited for
   * `timeoutMs` and nothing came.
   *
   * @throws Unavailable, AccessDenied
   */
  async next(timeoutMs: number, onSilence: () => void): Promise<readonly StoredEvent[] | null> {
    while (!this.#isOver && !this.#isFull()) await this.#something(timeoutMs, onSilence)
    if (this.#failure !== null) throw this.#failure
    const page = this.#page
    this.#page = []
    this.#characters = 0
    if (!this.#isOver) this.#source?.resume()
    return page.length === 0 ? null : page
  }

  #isFull(): boolean {
    return this.#page.length >= PAGE_EVENTS || this.#characters >= PAGE_CHARACTERS
  }

  /** Waits for a full page or the end. */
  async #something(timeoutMs: number, onSilence: () => void): Promise<void> {
    let received = this.#received
    const timer = setInterval(() => {
      if (this.#received === received) onSilence()
      received = this.#received
    }, timeoutMs)
    await new Promise<void>((resolve) => {
      this.#wake = resolve
    })
    clearInterval(timer)
  }
}
