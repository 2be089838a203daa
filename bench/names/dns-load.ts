/** What a name server is asked, and what is told of its answers. */

/** Questions for A records, spread evenly over networks and over the time. */
export interface DnsLoad {
  /** Where it listens on this machine. */
  readonly port: number
  /** Asked in turn. */
  readonly names: readonly string[]
  /** Each asks from an address of its own network, 127.0.<n>.1. */
  readonly networks: number
  readonly perSecond: number
  readonly forMs: number
}

/** What came of them. */
export interface DnsLoadResult {
  readonly asked: number
  /** With a record in it. */
  readonly whole: number
  /** That say to come by TCP. */
  readonly truncated: number
  /** Anything else. */
  readonly others: number
  /** Microseconds in which 99 of 100 whole answers came. */
  readonly p99: number
}
