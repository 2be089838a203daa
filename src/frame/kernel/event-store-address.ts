/** How the address of a server of EventStoreDB or KurrentDB is written, and shown. */

/** Names the event store inside the installation's own database, where an address may stand. */
export const DATABASE_STORE = "database"

const FORM = /^esdb(\+discover)?:\/\/[^/?\s]+([/?]\S*)?$/i

/**
 * Why a text is no such address; null where it is one. It is no URL (there may be several hosts), and
 * its client reads the whole of it when the store is opened: here is what can be told before.
 */
export function eventStoreAddressFault(text: string): string | null {
  if (!FORM.test(text)) {
    return (
      "must be esdb://host:2113 (all hosts of a cluster with commas between them) or " +
      "esdb+discover://name:2113 with the one DNS name of a cluster; with ?tls=false where it is not " +
      "encrypted"
    )
  }
  if (/[?&]tls[_-]?verify[_-]?cert=(?!true(&|$))/i.test(text)) {
    return (
      "has tlsVerifyCert=false: certificates are always verified, so name the authority of the " +
      "server's with tlsCAFile=/path/to/ca.crt"
    )
  }
  return null
}

/** The address without its password: the last `@` ends what may hold one. */
export function maskEventStoreAddress(address: string): string {
  return address.replace(/^([^:]+:\/\/[^:@/?]*):.*@/, "$1:***@")
}
