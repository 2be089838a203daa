/** The events of a simulation: the earliest comes first; at the same time the first added. */

/** The future events. Times are microseconds. */
export interface EventQueue {
  readonly now: () => number
  /** @throws RangeError for a time in the past */
  readonly schedule: (at: number, act: () => void) => void
  /** Runs all events. */
  readonly run: () => void
}

interface ScheduledEvent {
  readonly at: number
  readonly turn: number
  readonly act: () => void
}

/** Opens an empty queue at a time. */
export function openEventQueue(from: number): EventQueue {
  const heap: ScheduledEvent[] = []
  let now = from
  let turns = 0
  return {
    now: () => now,
    schedule: (at, act) => {
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

const isBefore = (a: ScheduledEvent, b: ScheduledEvent): boolean =>
  a.at < b.at || (a.at === b.at && a.turn < b.turn)

function push(heap: ScheduledEvent[], entry: ScheduledEvent): void {
  let place = heap.length
  heap.push(entry)
  while (place > 0) {
    const above = (place - 1) >> 1
    if (!isBefore(entry, heap[above] as ScheduledEvent)) break
    heap[place] = heap[above] as ScheduledEvent
    place = above
  }
  heap[place] = entry
}

function pop(heap: ScheduledEvent[]): ScheduledEvent | null {
  const [first] = heap
  const last = heap.pop()
  if (first === undefined || last === undefined) return null
  if (heap.length > 0) sink(heap, last)
  return first
}

/** Replaces the first entry. */
function sink(heap: ScheduledEvent[], entry: ScheduledEvent): void {
  let place = 0
  for (;;) {
    let below = 2 * place + 1
    if (below >= heap.length) break
    const other = below + 1
    if (
      other < heap.length &&
      isBefore(heap[other] as ScheduledEvent, heap[below] as ScheduledEvent)
    )
      below = other
    if (!isBefore(heap[below] as ScheduledEvent, entry)) break
    heap[place] = heap[below] as ScheduledEvent
    place = below
  }
  heap[place] = entry
}
