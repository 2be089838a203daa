/** A cookie of the house at a host name that others serve: it reaches nobody but the house. */

/** The value of a cookie in a `Cookie` header; null where it is not there. Of several the first stands. */
export function cookieIn(header: string | undefined, name: string): string | null {
  const found = pairsIn(header).find((pair) => nameIn(pair) === name)
  return found === undefined ? null : found.slice(found.indexOf("=") + 1).trim()
}

/** A `Cookie` header without a cookie; null where nothing else is in it. */
export function withoutCookie(header: string | undefined, name: string): string | null {
  const others = pairsIn(header).filter((pair) => !isNamed(pair, name))
  return others.length === 0 ? null : others.join("; ")
}

/** Whether a `Set-Cookie` sets a cookie, as any browser may read it: without regard to case, or to no name. */
export function setsCookie(header: string, name: string): boolean {
  return isNamed(header.split(";", 1)[0] ?? "", name)
}

const pairsIn = (header: string | undefined): readonly string[] =>
  (header ?? "")
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => pair !== "")

const nameIn = (pair: string): string => (pair.split("=", 1)[0] ?? "").trim()

/** One without a name is sent as its value alone: `=a=b` comes back as `a=b`. */
const isNamed = (pair: string, name: string): boolean =>
  nameIn(pair.replace(/^[\s=]+/, "")).toLowerCase() === name.toLowerCase()
