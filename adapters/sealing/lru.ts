interface CacheItem<V> {
  readonly value: V
  /** Whether it was used since it was last passed over. */
  isUsed: boolean
}

/**
 * A map of at most so many items: those that were not used for long go first. Use only marks an item,
 * for moving it to the end of the map at each use would cost more than what it is used for.
 */
export class LRU<K, V> {
  readonly #items = new Map<K, CacheItem<V>>()
  readonly #maxItems: number

  constructor(most: number) {
    this.#maxItems = most
  }

  get(key: K): V | undefined {
    const item = this.#items.get(key)
    if (item === undefined) return undefined
    item.isUsed = true
    return item.value
  }

  set(key: K, value: V): void {
    this.#items.delete(key)
    // Before it is there: however often the others were used, it is not the one to go.
    if (this.#items.size >= this.#maxItems) this.#evictOne()
    this.#items.set(key, { value, isUsed: false })
  }

  delete(key: K): void {
    this.#items.delete(key)
  }

  /** What was used stays this time, behind all others: the walk meets it again at its end. */
  #evictOne(): void {
    for (const [key, item] of this.#items) {
      this.#items.delete(key)
      if (!item.isUsed) return
      this.#items.set(key, { value: item.value, isUsed: false })
    }
  }

  deleteWhere(matches: (key: K) => boolean): void {
    for (const key of this.#items.keys()) if (matches(key)) this.#items.delete(key)
  }
}
