/** What the document says to whoever calls the API, and to what generates a client from it. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { z } from "zod"
import { openApi } from "../../../src/frame/http/documents/documents.ts"
import { DOCUMENT_EXTRAS } from "../../../src/document-examples.ts"
import { PROGRAM } from "../../../src/slices.ts"
import { createRoute } from "../../frame/sample-routes.ts"
import { inlineReferences } from "../../support/api-contract.ts"
import { ROOT } from "../../conventions/source-tree.ts"

interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
}
type Content = Readonly<Record<string, { readonly schema: Schema }>>
interface Operation {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly parameters?: readonly { readonly name: string; readonly description?: string }[]
  readonly requestBody?: { readonly content: Content }
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>
}
type Document = {
  readonly info: { readonly title: string; readonly description: string }
  readonly tags: readonly { readonly name: string; readonly description?: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly securitySchemes: { readonly key: { readonly description: string } }
  }
}

const DOCUMENT = openApi(PROGRAM.entries, PROGRAM.retiredPaths, "", DOCUMENT_EXTRAS) as Document
const OPERATIONS = Object.values(DOCUMENT.paths).flatMap((verbs) => Object.values(verbs))

/** The schemas of what an operation takes and of what it answers when all went well. */
const schemasOf = ({ requestBody, responses }: Operation): readonly Schema[] => {
  const right = Object.entries(responses).filter(([status]) => Number(status) < 300)
  const contents = [requestBody?.content ?? {}, ...right.map(([, { content }]) => content ?? {})]
  return contents.flatMap((content) => Object.values(content).map(({ schema }) => schema))
}

/**
 * Whether something is said of a value where it stands, or in each of the forms that it can have: what is
 * said of one beside null alone is read by no generator.
 */
function isDescribed({ description = "", anyOf, oneOf }: Schema): boolean {
  const forms = anyOf ?? oneOf ?? []
  return description !== "" || (forms.length > 0 && forms.every(isDescribed))
}

/** The properties within a schema of which nothing is said, by where they are. */
function silentIn(schema: Schema, place: string): readonly string[] {
  const own = Object.entries(schema.properties ?? {})
  return [
    ...own.filter(([, one]) => !isDescribed(one)).map(([name]) => `${place}.${name}`),
    ...own.flatMap(([name, one]) => silentIn(one, `${place}.${name}`)),
    ...[schema.items ?? [], schema.anyOf ?? [], schema.oneOf ?? []]
      .flat()
      .flatMap((one) => silentIn(one, place)),
  ]
}

describe("an operation", () => {
  it("has the name that its route says", () => {
    const names = Object.values(DOCUMENT.paths)
      .flatMap((verbs) => Object.values(verbs))
      .filter(({ tags }) => !tags.includes("retired"))
      .map(({ operationId }) => operationId)
    expect(names).toEqual(PROGRAM.entries.map(({ name }) => name))
    expect(names).toEqual(expect.arrayContaining(["sendText", "listMessages", "buyCredits"]))
  })

  it("is of a group that a page says what it is for", () => {
    const pages = new Map(DOCUMENT.tags.map(({ name, description }) => [name, description]))
    for (const { operationId, tags } of OPERATIONS) {
      expect([operationId, tags.length]).toEqual([operationId, 1])
      expect(pages.get(tags[0] ?? ""), operationId).toMatch(/\.$/)
    }
    expect(pages.size).toBe(DOCUMENT.tags.length)
  })

  it("takes and answers what has a name", () => {
    for (const operation of OPERATIONS) {
      const forms = schemasOf(operation).flatMap((one) => one.oneOf ?? one.anyOf ?? [one])
      for (const { $ref, type } of forms) {
        const isNamed = $ref?.startsWith("#/components/schemas/") ?? false
        expect([operation.operationId, isNamed || type === "string"]).toEqual([
          operation.operationId,
          true,
        ])
      }
    }
    const { schemas } = DOCUMENT.components
    expect(Object.keys(schemas)).toEqual(
      expect.arrayContaining(["SendTextRequest", "SendTextAnswer", "Message", "Micros", "Limit"]),
    )
    expect(Object.keys(schemas).filter((name) => !/^[A-Z][A-Za-z]+$/.test(name))).toEqual([])
  })

  it("describes every property and every parameter: write `.describe()` behind its schema", () => {
    const silent = OPERATIONS.flatMap((operation) => {
      const { operationId, parameters = [] } = operation
      return [
        ...schemasOf(operation).flatMap((one) =>
          silentIn(inlineReferences(one, DOCUMENT), operationId),
        ),
        ...parameters.filter(({ description = "" }) => description === "").map(({ name }) => name),
      ]
    })
    expect(silent).toEqual([])
    const error = DOCUMENT.components.schemas["ApiError"] as Schema
    expect(silentIn(inlineReferences(error, DOCUMENT), "ApiError")).toEqual([])
  })
})

describe("the first page", () => {
  const { title, description } = DOCUMENT.info

  it("bears the product's name", () => {
    expect(title).toBe("Company Platform API of company-ledger")
  })

  it.each([
    ["## Keys", "Authorization: Bearer"],
    ["## Money", "Micros"],
    ["## Retries", "Idempotency-Key"],
    ["## Reading your own writes", "Ledger-Position"],
    ["## Lists", "nextCursor"],
    ["## Errors", "x-request-id"],
    ["## Rate limits", "Retry-After: 60"],
    ["## API calls", "five seconds"],
  ])("has a part %s", (heading, word) => {
    const part = description.split(/^(?=## )/m).find((one) => one.startsWith(`${heading}\n`))
    expect(part).toContain(word)
  })

  it("says of a key that a signed request can be repeated", () => {
    const { description: words } = DOCUMENT.components.securitySchemes.key
    expect(words).toContain("can be repeated unchanged while its time is within 60 seconds")
  })
})

describe("what is for builders", () => {
  it("is shown to nobody else", () => {
    const shown = JSON.stringify(DOCUMENT, (key, value: unknown) =>
      key.startsWith("x-") ? undefined : value,
    )
    expect(shown).not.toMatch(/specification|decisions?\.md|spec-gap|beyond-spec/i)
  })
})

describe("a name", () => {
  it("stands for one schema", () => {
    const again = { ...createRoute, url: "/api/v1/pretended/again" }
    expect(() => openApi([createRoute, again], [], "")).not.toThrow()
    const other = { ...again, reply: z.object({ another: z.string() }) }
    expect(() => openApi([createRoute, other], [], "")).toThrow("have the name MakeThingAnswer")
  })
})

const page = readFileSync(join(ROOT, "docs/api.md"), "utf8")
const codes = PROGRAM.routes.flatMap(({ refusalCodes = [] }) =>
  refusalCodes.map((one) => (typeof one === "string" ? one : one.error)),
)

it("names every code", () => {
  const named = new Set([...page.matchAll(/`([a-z_]+)`/g)].map(([, code]) => code))
  expect([...new Set(codes)].filter((code) => !named.has(code))).toEqual([])
  expect(codes).toContain("too_many_boxes")
})
