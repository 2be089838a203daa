/** A memory cache with a limit in bytes, which evicts the least recently used values. */

/** A value with its size. */
export interface SizedValue<T> {
  readonly value: T
  /** Approximate bytes. */
  readonly bytes: number
}

export interface MemoryCache {
  /** Returns a value, or loads it, once for all concurrent callers. */
  readonly get: <T>(name: string, load: () => Promise<SizedValue<T>>) => Promise<T>
}

/** Creates a cache. A value larger than the limit is not cached. */
export function openMemoryCache(mostBytes: number): MemoryCache {
  // All values of a name have the same type.
  const cached = new Map<string, SizedValue<unknown>>()
  const loading = new Map<string, Promise<unknown>>()
  let bytes = 0
  const store = (name: string, one: SizedValue<unknown>): void => {
    if (one.bytes > mostBytes) return
    cached.set(name, one)
    bytes += one.bytes
    for (const [oldest, { bytes: freed }] of cached) {
      if (bytes <= mostBytes) return
      cached.delete(oldest)
      bytes -= freed
    }
  }
  const loadOnce = async <T>(name: string, load: () => Promise<SizedValue<T>>): Promise<T> => {
    try {
      const one = await load()
      store(name, one)
      return one.value
    } finally {
      loading.delete(name)
    }
  }
  return {
    get: async <T>(name: string, load: () => Promise<SizedValue<T>>): Promise<T> => {
      const known = cached.get(name)
      if (known !== undefined) {
        cached.delete(name)
        cached.set(name, known)
        return known.value as T
      }
      const loaded = loading.get(name) ?? loadOnce(name, load)
      loading.set(name, loaded)
      return loaded as Promise<T>
    },
  }
}
