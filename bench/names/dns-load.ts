/** The load on a name server, and its result. */

/** Queries for A records, spread evenly over networks and time. */
export interface DnsLoad {
  /** The server's port on this machine. */
  readonly port: number
  /** Queried in turn. */
  readonly names: readonly string[]
  /** Each network queries from its own address, 127.0.<n>.1. */
  readonly networks: number
  readonly perSecond: number
  readonly forMs: number
}

export interface DnsLoadResult {
  readonly asked: number
  /** Answers with a record. */
  readonly whole: number
  /** Answers that request TCP. */
  readonly truncated: number
  /** All other answers. */
  readonly others: number
  /** Microseconds within which 99 of 100 full answers arrived. */
  readonly p99: number
}
