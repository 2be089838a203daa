/** A map that keeps the items used last, at most so many. */
export class LRU<K, V> {
  readonly #items = new Map<K, V>()
  readonly #most: number

  constructor(most: number) {
    this.#most = most
  }

  get(key: K): V | undefined {
    const value = this.#items.get(key)
    if (value === undefined) return undefined
    this.#items.delete(key)
    this.#items.set(key, value)
    return value
  }

  set(key: K, value: V): void {
    this.#items.delete(key)
    this.#items.set(key, value)
    if (this.#items.size <= this.#most) return
    for (const oldest of this.#items.keys()) {
      this.#items.delete(oldest)
      return
    }
  }

  delete(key: K): void {
    this.#items.delete(key)
  }

  deleteWhere(matches: (key: K) => boolean): void {
    for (const key of this.#items.keys()) if (matches(key)) this.#items.delete(key)
  }
}
