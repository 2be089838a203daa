import type { EventStoreDbServer } from "./eventstoredb-server.ts"

/**
 * Simulated EventStoreDB servers that form a cluster: followers replicate the leader, gossip lists all nodes, and
 * followers redirect clients to the leader.
 */
export class EventStoreDbCluster {
  readonly nodes: readonly EventStoreDbServer[]
  readonly #isolated = new Set<EventStoreDbServer>()
  #leader: EventStoreDbServer
  #unsubscribe: () => void = () => undefined

  /** Makes a cluster of empty servers; the first one leads. */
  constructor(nodes: readonly [EventStoreDbServer, ...EventStoreDbServer[]]) {
    this.nodes = nodes
    this.#leader = nodes[0]
    // Each server wrote different system events at its start.
    for (const node of nodes) node.log.truncate(0n)
    this.elect(nodes[0])
  }

  /** The connection string with all nodes and a short discovery interval. */
  get url(): string {
    const hosts = this.nodes.map(({ port }) => `127.0.0.1:${port}`).join(",")
    return `esdb://${hosts}?tls=false&discoveryInterval=20`
  }

  get leader(): EventStoreDbServer {
    return this.#leader
  }

  get followers(): readonly EventStoreDbServer[] {
    return this.nodes.filter((node) => node !== this.#leader)
  }

  /** Elects another leader; frozen nodes do not learn of it. */
  elect(leader: EventStoreDbServer): void {
    this.#unsubscribe()
    this.#leader = leader
    this.#unsubscribe = leader.log.onAppended((records) => {
      for (const node of this.#reachable()) if (node !== leader) node.log.replicate(records)
    })
    const nodes = this.nodes.map((node) => ({ port: node.port, isLeader: node === leader }))
    for (const node of this.#reachable()) {
      node.leaderPort = node === leader ? null : leader.port
      node.nodes = nodes
    }
  }

  /** Freezes a node: its connections stay open, but no data passes and nothing is replicated to it. */
  freeze(node: EventStoreDbServer): void {
    this.#isolated.add(node)
    node.relay.freeze()
  }

  /** Continues a frozen node in its old state. */
  thaw(node: EventStoreDbServer): void {
    // It cannot reach the other nodes, so it cannot store an append.
    node.faultOf = () => "not-ready"
    node.relay.thaw()
  }

  /** Brings a node up to date: cuts its connections, truncates the records that only it has, and replicates the rest. */
  rejoin(node: EventStoreDbServer): void {
    node.relay.cut()
    this.#isolated.delete(node)
    node.faultOf = () => "none"
    const { records } = this.#leader.log
    const common = node.log.records.findLast(({ commit, id }) =>
      records.some((one) => one.commit === commit && one.id === id),
    )
    node.log.truncate(common?.commit ?? 0n)
    node.log.replicate(records.filter(({ commit }) => commit > (common?.commit ?? 0n)))
    node.nodes = this.#leader.nodes
    node.leaderPort = this.#leader.port
  }

  #reachable(): readonly EventStoreDbServer[] {
    return this.nodes.filter((node) => !this.#isolated.has(node))
  }
}
