/**
 * Which process a company's calls go to: the ring of nginx's `hash $ledger_company consistent` in
 * `deploy/nginx/ledger-upstream.conf` (`ngx_http_upstream_hash_module`). A server has 160 points, each the CRC-32 of its
 * host, a zero, its port and the point before it; a company goes to the server of the first point at or after the CRC-32
 * of its tag. Envoy hashes differently with the same evenness.
 */
import { crc32 } from "node:zlib"

const POINTS_EACH = 160

export interface Ring {
  readonly servers: number
  /** The positions of the points, ascending. */
  readonly points: Uint32Array
  /** The server of each point. */
  readonly owners: Uint16Array
}

/** Puts servers on a ring, each named `host:port`. */
export function ringOf(servers: readonly string[]): Ring {
  const all = servers.flatMap((server, owner) => pointsOf(server).map((hash) => ({ hash, owner })))
  all.sort((a, b) => a.hash - b.hash)
  // Of two points with the same position nginx keeps one.
  const kept = all.filter(({ hash }, i) => hash !== all[i - 1]?.hash)
  return {
    servers: servers.length,
    points: Uint32Array.from(kept, ({ hash }) => hash),
    owners: Uint16Array.from(kept, ({ owner }) => owner),
  }
}

function pointsOf(server: string): readonly number[] {
  const colon = server.lastIndexOf(":")
  const base = crc32(`${server.slice(0, colon)}\0${server.slice(colon + 1)}`)
  const before = Buffer.alloc(4)
  return Array.from({ length: POINTS_EACH }, () => {
    const hash = crc32(before, base)
    before.writeUInt32LE(hash)
    return hash
  })
}

/** The position of a company on the ring. */
export const ringPositionOf = (tag: string): number => crc32(tag)

/** The server of a position; if it is down, the server of the next point that is not. */
export function ownerOf({ points, owners }: Ring, place: number, down = -1): number {
  let [low, high] = [0, points.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((points[middle] as number) < place) low = middle + 1
    else high = middle
  }
  for (let tried = 0; tried < owners.length; tried += 1) {
    const owner = owners[(low + tried) % owners.length] as number
    if (owner !== down) return owner
  }
  throw new RangeError("no server is up")
}
