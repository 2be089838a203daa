import type { DefaultTreeAdapterMap } from "parse5"
import { parse } from "parse5"

type Node = DefaultTreeAdapterMap["node"]
type Element = DefaultTreeAdapterMap["element"]

export interface PageElement {
  readonly tag: string
  /** The enclosing element; null for the outermost. */
  readonly parent: PageElement | null
  readonly isHidden: boolean
  readonly attribute: (name: string) => string | undefined
  /** The visible text of the element, cut at a limit. */
  readonly text: () => string
}

/** A page as people see it. */
export interface ParsedPage {
  readonly text: string
  /** In document order. */
  readonly elements: readonly PageElement[]
}

/** Elements that browsers do not render as text. */
const NOT_RENDERED_TAGS = new Set(
  "head title style script noscript template iframe object audio video canvas noframes datalist".split(
    " ",
  ),
)
/** Elements that continue a word or a line; all others start a new one. */
const INLINE = new Set(
  "a abbr b bdi cite code em font i mark q s small span strong sub sup u".split(" "),
)
const HIDING = [
  /display ?: ?none|visibility ?: ?hidden|(?:^|[; ])opacity ?: ?0(?:\.0{1,9})?(?! ?[.\d])|font-size ?: ?0(?:px|r?em|%|pt)? ?(?:;|!|$)/i,
  // Far outside the visible area.
  /(?:left|right|top|bottom|text-indent) ?: ?-\d{3,9}/i,
  /(?:^|[; ])color ?: ?transparent|clip ?: ?rect|clip-path ?: ?(?:inset\( ?(?:[5-9]\d|100)%|circle\( ?0)|scale\( ?0 ?\)/i,
]
/** No height or width, combined with hidden overflow. */
const FLAT = /(?:^|[; ])(?:max-)?(?:height|width) ?: ?[01](?:px|r?em|%)? ?(?:;|!|$)/i
const CUT_OFF = /overflow(?:-[xy])? ?: ?(?:hidden|clip)/i
const isHiding = (style: string) =>
  HIDING.some((one) => one.test(style)) || (FLAT.test(style) && CUT_OFF.test(style))
/** Characters without width, which do not separate words. */
const ZERO_WIDTH_CHARACTERS = /[\u00AD\u061C\u180E\u200B-\u200F\u202A-\u202E\u2060-\u2064\uFEFF]/g

/** Normalizes a text for comparison: NFKC, plain quotes, single spaces. */
export function normalizedText(text: string): string {
  return text
    .replaceAll(ZERO_WIDTH_CHARACTERS, "")
    .normalize("NFKC")
    .replaceAll(/[\u2018\u2019\u201B]/g, "'")
    .replaceAll(/\s+/g, " ")
}

const [MAX_PIECES, MAX_TEXT] = [400, 4_000]
const MAX_STYLE = 2_000

const isElement = (node: Node): node is Element => "tagName" in node

function isHiddenElement({ tagName, attrs }: Element): boolean {
  const value = (name: string) => attrs.find((one) => one.name === name)?.value
  if (NOT_RENDERED_TAGS.has(tagName) || value("hidden") !== undefined) return true
  if (value("aria-hidden")?.toLowerCase() === "true") return true
  if (tagName === "dialog" && value("open") === undefined) return true
  const style = value("style")
  return (
    style !== undefined &&
    isHiding(normalizedText(style.slice(0, MAX_STYLE).replaceAll(/\/\*.*?\*\//gs, " ")))
  )
}

interface TraversalStep {
  readonly node: Node
  readonly parent: PageElement | null
}

/** Parses a document with an explicit stack, because elements may be nested arbitrarily deep. */
export function parsePage(html: string): ParsedPage {
  const pieces: string[] = []
  const elements: PageElement[] = []
  const steps: (TraversalStep | (() => void))[] = [{ node: parse(html), parent: null }]
  for (let step = steps.pop(); step !== undefined; step = steps.pop()) {
    if (typeof step === "function") {
      step()
      continue
    }
    const { node, parent } = step
    if ("value" in node && parent?.isHidden !== true) pieces.push(node.value)
    if (!("childNodes" in node)) continue
    const entered = isElement(node) ? enterElement(node, parent, pieces) : null
    if (entered !== null) {
      elements.push(entered.element)
      steps.push(entered.end)
    }
    const inner = entered?.element ?? parent
    for (const child of node.childNodes.toReversed()) steps.push({ node: child, parent: inner })
  }
  return { text: normalizedText(pieces.join("")), elements }
}

function enterElement(element: Element, parent: PageElement | null, pieces: string[]) {
  const { tagName: tag, attrs } = element
  const gap = (): void => void (INLINE.has(tag) || pieces.push(" "))
  gap()
  const from = pieces.length
  let to = from
  const entered: PageElement = {
    tag,
    parent,
    isHidden: parent?.isHidden === true || isHiddenElement(element),
    attribute: (name) => attrs.find((one) => one.name === name)?.value,
    text: () =>
      normalizedText(
        pieces
          .slice(from, Math.min(to, from + MAX_PIECES))
          .join("")
          .slice(0, MAX_TEXT),
      ).trim(),
  }
  const end = (): void => {
    to = pieces.length
    gap()
  }
  return { element: entered, end }
}
