/**
 * Where Telnyx calls back. It signs a body and not the address, so the address of a text's news carries
 * our id of it with a keyed hash: nobody else's id can be put there.
 */

/** Where texts are told of that come in, and whatever has no address of its own. */
export const TEXTS_PATH = "/carriers/telnyx/texts"

const OF_A_TEXT = /^\/carriers\/telnyx\/texts\/(msg_[0-9A-Za-z]+)\/([0-9a-f]{32})$/

/** What addresses are made with. */
export interface Addressing {
  /** The public address of this service, without a slash at the end. */
  readonly baseUrl: () => string
  /** A keyed hash of the installation, 32 hexadecimal characters. */
  readonly tag: (text: string) => string
}

/** The path of a text's news. */
export function pathOfText({ tag }: Pick<Addressing, "tag">, textId: string): string {
  return `${TEXTS_PATH}/${textId}/${tag(`telnyx text ${textId}`)}`
}

/** The address of a text's news. */
export function urlOfText(addressing: Addressing, textId: string): string {
  return `${addressing.baseUrl()}${pathOfText(addressing, textId)}`
}

/** Whose news a path is for: a text's, anybody's, or nobody's because somebody made it up. */
export function placeOf(
  addressing: Pick<Addressing, "tag">,
  target: string,
): { readonly is: "text"; readonly textId: string } | { readonly is: "any" } | null {
  const path = target.split("?")[0] ?? ""
  if (path === TEXTS_PATH) return { is: "any" }
  const textId = OF_A_TEXT.exec(path)?.[1]
  if (textId === undefined || pathOfText(addressing, textId) !== path) return null
  return { is: "text", textId }
}
