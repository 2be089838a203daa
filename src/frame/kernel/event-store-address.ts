/** The address of an EventStoreDB or KurrentDB server: its format, and how to show it. */

/** Selects the event store in the installation's own database instead of an address. */
export const DATABASE_STORE = "database"

const FORM = /^esdb(\+discover)?:\/\/[^/?\s]+([/?]\S*)?$/i

/**
 * Returns why an address is not valid; null if it is. It is not a URL, because it may list several hosts; its
 * client checks the rest when the store is opened.
 */
export function eventStoreAddressFault(text: string): string | null {
  if (!FORM.test(text)) {
    return (
      "must be esdb://host:2113 (separate the hosts of a cluster with commas) or " +
      "esdb+discover://name:2113 (the DNS name of a cluster); add ?tls=false for a connection without " +
      "encryption"
    )
  }
  if (/[?&]tls[_-]?verify[_-]?cert=(?!true(&|$))/i.test(text)) {
    return (
      "has tlsVerifyCert=false, but certificates are always verified: name the authority of the " +
      "server's certificate with tlsCAFile=/path/to/ca.crt"
    )
  }
  return null
}

/** Masks the password in an address: the last `@` ends the part that may contain one. */
export function maskEventStoreAddress(address: string): string {
  return address.replace(/^([^:]+:\/\/[^:@/?]*):.*@/, "$1:***@")
}
