/** What happens when, in a simulation: always the earliest next, of the same moment what was put in first. */

/** What is still to happen. Times are microseconds. */
export interface Agenda {
  readonly now: () => number
  /** @throws RangeError for a moment that is over */
  readonly put: (at: number, act: () => void) => void
  /** Lets everything happen. */
  readonly run: () => void
}

interface Entry {
  readonly at: number
  readonly turn: number
  readonly act: () => void
}

/** An empty one, at a moment. */
export function openAgenda(from: number): Agenda {
  const heap: Entry[] = []
  let now = from
  let turns = 0
  return {
    now: () => now,
    put: (at, act) => {
      if (at < now) throw new RangeError(`${at} is before ${now}`)
      push(heap, { at, turn: turns, act })
      turns += 1
    },
    run: () => {
      for (let next = pop(heap); next !== null; next = pop(heap)) {
        now = next.at
        next.act()
      }
    },
  }
}

const isBefore = (a: Entry, b: Entry): boolean => a.at < b.at || (a.at === b.at && a.turn < b.turn)

function push(heap: Entry[], entry: Entry): void {
  let place = heap.length
  heap.push(entry)
  while (place > 0) {
    const above = (place - 1) >> 1
    if (!isBefore(entry, heap[above] as Entry)) break
    heap[place] = heap[above] as Entry
    place = above
  }
  heap[place] = entry
}

function pop(heap: Entry[]): Entry | null {
  const [first] = heap
  const last = heap.pop()
  if (first === undefined || last === undefined) return null
  if (heap.length > 0) sink(heap, last)
  return first
}

/** Puts an entry in the place of the first. */
function sink(heap: Entry[], entry: Entry): void {
  let place = 0
  for (;;) {
    let below = 2 * place + 1
    if (below >= heap.length) break
    const other = below + 1
    if (other < heap.length && isBefore(heap[other] as Entry, heap[below] as Entry)) below = other
    if (!isBefore(heap[below] as Entry, entry)) break
    heap[place] = heap[below] as Entry
    place = below
  }
  heap[place] = entry
}
