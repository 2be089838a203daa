/** How many connections go to a port of a box at once: a link is open to everybody who has it. */

/** As many as people and their browsers need; more is somebody's loop. */
export const MOST_CONNECTIONS = 100

/** The places of all ports. */
export interface PreviewPlaces {
  /** Takes one of a port; answers what gives it back, null where all are taken. */
  readonly take: (port: string) => (() => void) | null
}

/** Opens them. */
export function openPlaces(): PreviewPlaces {
  const taken = new Map<string, number>()
  return {
    take: (port) => {
      const before = taken.get(port) ?? 0
      if (before >= MOST_CONNECTIONS) return null
      taken.set(port, before + 1)
      return () => {
        const left = (taken.get(port) ?? 0) - 1
        if (left > 0) taken.set(port, left)
        else taken.delete(port)
      }
    },
  }
}
