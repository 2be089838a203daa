import { Metadata } from "@grpc/grpc-js"
import { GossipClient } from "@eventstore/db-client/generated/gossip_grpc_pb.js"
import gossip from "@eventstore/db-client/generated/gossip_pb.js"
import type { ClusterInfo } from "@eventstore/db-client/generated/gossip_pb.js"
import shared from "@eventstore/db-client/generated/shared_pb.js"

import { pause } from "../waiting.ts"
import type { Address } from "./connection-string.ts"

/**
 * Asks the nodes of a cluster which of them leads, in any order, until one knows.
 *
 * @param avoid a node, `host:port`, that has just failed: it is asked last
 * @param signal ends the search
 * @returns the leader, `host:port`
 * @throws Error where nobody knows it after as many rounds as the address says
 */
export async function findLeader(
  address: Address,
  avoid: string | null,
  signal: AbortSignal,
): Promise<string> {
  const { attempts, pauseMs } = address.search
  for (let round = 1; round <= attempts && !signal.aborted; round += 1) {
    for (const host of inAnyOrder(address.hosts, avoid)) {
      const leader = await leaderBy(host, address)
      if (leader !== null) return leader
      signal.throwIfAborted()
    }
    await pause(pauseMs, signal)
  }
  throw new Error(`no node of the cluster names a leader that lives (asked ${attempts} times)`)
}

function inAnyOrder(hosts: readonly string[], last: string | null): readonly string[] {
  const rank = (host: string): number => (host === last ? 1 : Math.random())
  return hosts
    .map((host) => ({ host, at: rank(host) }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ host }) => host)
}

/** The leader as a node knows it; null where it does not, or does not answer. */
function leaderBy(host: string, { channel, channelOptions, search }: Address) {
  const client = new GossipClient(host, channel, channelOptions)
  const { promise, resolve } = Promise.withResolvers<string | null>()
  const deadline = Date.now() + search.answerMs
  client.read(new shared.Empty(), new Metadata(), { deadline }, (error, cluster) => {
    client.close()
    resolve(error === null ? leaderIn(cluster) : null)
  })
  return promise
}

function leaderIn(cluster: ClusterInfo): string | null {
  const { LEADER } = gossip.MemberInfo.VNodeState
  const leader = cluster
    .getMembersList()
    .find((member) => member.getIsAlive() && member.getState() === LEADER)
  const at = leader?.getHttpEndPoint()
  return at === undefined ? null : `${at.getAddress()}:${at.getPort()}`
}
