/**
 * Where Telnyx tells of registrations. It signs a body and not the address, so an address carries our ids
 * with a keyed hash: nobody else's can be put there.
 */

const PARTS_PATH = "/carriers/telnyx/registration"
const NUMBERS_PATH = "/carriers/telnyx/registered-numbers"

const OF_A_PART = /^\/carriers\/telnyx\/registration\/(reg_\w+)\/(co_\w+)\/[0-9a-f]{32}$/
const OF_NUMBERS = /^\/carriers\/telnyx\/registered-numbers\/(co_\w+)\/[0-9a-f]{32}$/

/** What addresses are made with. */
export interface Addressing {
  /** The public address of this service, without a slash at the end. */
  readonly baseUrl: () => string
  /** A keyed hash of the installation, 32 hexadecimal characters. */
  readonly tag: (text: string) => string
}

/** A submission, and whose it is. */
interface Submitted {
  readonly submissionId: string
  readonly companyId: string
}

/** The path of what is told of a submission, and of the numbers of a campaign. */
export function pathOfPart(
  { tag }: Pick<Addressing, "tag">,
  { submissionId, companyId }: Submitted,
): string {
  const mac = tag(`telnyx registration ${submissionId} ${companyId}`)
  return `${PARTS_PATH}/${submissionId}/${companyId}/${mac}`
}

/** The path of what is told of a company's toll-free numbers. */
function pathOfNumbers({ tag }: Pick<Addressing, "tag">, companyId: string): string {
  return `${NUMBERS_PATH}/${companyId}/${tag(`telnyx registered numbers ${companyId}`)}`
}

/** The address of what is told of a submission. */
export function urlOfPart(addressing: Addressing, submitted: Submitted): string {
  return `${addressing.baseUrl()}${pathOfPart(addressing, submitted)}`
}

/** The address of what is told of a company's toll-free numbers. */
export function urlOfNumbers(addressing: Addressing, companyId: string): string {
  return `${addressing.baseUrl()}${pathOfNumbers(addressing, companyId)}`
}

/** Whether an address that was given to Telnyx is one of a company's submissions. */
export function isOfCompany(url: string, companyId: string): boolean {
  return OF_A_PART.exec(url.slice(Math.max(0, url.indexOf(PARTS_PATH))))?.[2] === companyId
}

/** Whose news a path is for; null where somebody made it up. */
export type Place =
  | ({ readonly is: "part"; readonly path: string } & Submitted)
  | { readonly is: "numbers"; readonly path: string; readonly companyId: string }

/** Whose news a path is for; null where somebody made it up. */
export function placeOf(addressing: Pick<Addressing, "tag">, target: string): Place | null {
  const path = target.split("?")[0] ?? ""
  const [, submissionId, owner] = OF_A_PART.exec(path) ?? []
  if (submissionId !== undefined && owner !== undefined) {
    const submitted = { submissionId, companyId: owner }
    return pathOfPart(addressing, submitted) === path ? { is: "part", path, ...submitted } : null
  }
  const companyId = OF_NUMBERS.exec(path)?.[1]
  if (companyId === undefined || pathOfNumbers(addressing, companyId) !== path) return null
  return { is: "numbers", path, companyId }
}
