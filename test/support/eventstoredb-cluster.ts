import type { EventStoreDbServer } from "./eventstoredb-server.ts"

/**
 * Servers of EventStoreDB that are the nodes of one cluster: what the leader stores the others have as
 * well, gossip names them all, and who asks a follower is sent to the leader.
 */
export class EventStoreDbCluster {
  readonly nodes: readonly EventStoreDbServer[]
  readonly #away = new Set<EventStoreDbServer>()
  #leader: EventStoreDbServer
  #forget: () => void = () => undefined

  /** Makes a cluster of servers that hold nothing yet; the first one leads. */
  constructor(nodes: readonly [EventStoreDbServer, ...EventStoreDbServer[]]) {
    this.nodes = nodes
    this.#leader = nodes[0]
    // What servers write of themselves at their start is another thing at each of them.
    for (const node of nodes) node.log.truncate(0n)
    this.elect(nodes[0])
  }

  /** The connection string with all of them. Each look for the leader follows quickly on the last. */
  get url(): string {
    const hosts = this.nodes.map(({ port }) => `127.0.0.1:${port}`).join(",")
    return `esdb://${hosts}?tls=false&discoveryInterval=20`
  }

  /** The node that leads. */
  get leader(): EventStoreDbServer {
    return this.#leader
  }

  /** Those that follow it. */
  get followers(): readonly EventStoreDbServer[] {
    return this.nodes.filter((node) => node !== this.#leader)
  }

  /** Lets another node lead, which all others hear of but those that are away. */
  elect(leader: EventStoreDbServer): void {
    this.#forget()
    this.#leader = leader
    this.#forget = leader.log.onAppended((records) => {
      for (const node of this.#there()) if (node !== leader) node.log.replicate(records)
    })
    const nodes = this.nodes.map((node) => ({ port: node.port, isLeader: node === leader }))
    for (const node of this.#there()) {
      node.leaderPort = node === leader ? null : leader.port
      node.nodes = nodes
    }
  }

  /** Freezes a node: its connections stay, nothing comes through, and it hears of nothing. */
  freeze(node: EventStoreDbServer): void {
    this.#away.add(node)
    node.relay.freeze()
  }

  /** Lets a frozen node go on as it was: it does not know yet what happened meanwhile. */
  thaw(node: EventStoreDbServer): void {
    // It reaches no others with an append, and so cannot store one.
    node.faultOf = () => "not-ready"
    node.relay.thaw()
  }

  /** Lets a node hear of what it missed: it cuts off what only it had, ends, and is started again. */
  rejoin(node: EventStoreDbServer): void {
    node.relay.cut()
    this.#away.delete(node)
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

  #there(): readonly EventStoreDbServer[] {
    return this.nodes.filter((node) => !this.#away.has(node))
  }
}
