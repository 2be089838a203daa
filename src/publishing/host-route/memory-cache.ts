/** What was read lately, in memory, up to so many bytes: what nobody asked for the longest goes first. */

/** Something with its weight. */
export interface SizedValue<T> {
  readonly value: T
  /** Bytes, about. */
  readonly bytes: number
}

/** A cache. */
export interface MemoryCache {
  /** What is known by a name; where nothing is, it is loaded, once for all who ask meanwhile. */
  readonly get: <T>(name: string, load: () => Promise<SizedValue<T>>) => Promise<T>
}

/** Opens one. What alone is heavier than all may be is not kept. */
export function openMemoryCache(mostBytes: number): MemoryCache {
  // Each name means things of one type.
  const kept = new Map<string, SizedValue<unknown>>()
  const loading = new Map<string, Promise<unknown>>()
  let bytes = 0
  const keep = (name: string, one: SizedValue<unknown>): void => {
    if (one.bytes > mostBytes) return
    kept.set(name, one)
    bytes += one.bytes
    for (const [oldest, { bytes: freed }] of kept) {
      if (bytes <= mostBytes) return
      kept.delete(oldest)
      bytes -= freed
    }
  }
  const loadOnce = async <T>(name: string, load: () => Promise<SizedValue<T>>): Promise<T> => {
    try {
      const one = await load()
      keep(name, one)
      return one.value
    } finally {
      loading.delete(name)
    }
  }
  return {
    get: async <T>(name: string, load: () => Promise<SizedValue<T>>): Promise<T> => {
      const known = kept.get(name)
      if (known !== undefined) {
        kept.delete(name)
        kept.set(name, known)
        return known.value as T
      }
      const coming = loading.get(name) ?? loadOnce(name, load)
      loading.set(name, coming)
      return coming as Promise<T>
    },
  }
}
