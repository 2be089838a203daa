interface CacheItem<V> {
  readonly value: V
  /** Whether it was used since the last eviction passed it. */
  isUsed: boolean
}

/**
 * A map with a maximum size that evicts items that were not used recently. Using an item only marks
 * it, because moving it at each use would cost more than the cached work.
 */
export class LRU<K, V> {
  readonly #items = new Map<K, CacheItem<V>>()
  readonly #maxItems: number

  constructor(maxItems: number) {
    this.#maxItems = maxItems
  }

  get(key: K): V | undefined {
    const item = this.#items.get(key)
    if (item === undefined) return undefined
    item.isUsed = true
    return item.value
  }

  set(key: K, value: V): void {
    this.#items.delete(key)
    // Evict before inserting, so that the new item is never the one evicted.
    if (this.#items.size >= this.#maxItems) this.#evictOne()
    this.#items.set(key, { value, isUsed: false })
  }

  delete(key: K): void {
    this.#items.delete(key)
  }

  /** A used item loses its mark and moves to the end instead. */
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
