/** The document for people who call the API and for client generators. */
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

/** The schemas of an operation's request body and successful answers. */
const schemasOf = ({ requestBody, responses }: Operation): readonly Schema[] => {
  const successes = Object.entries(responses).filter(([status]) => Number(status) < 300)
  const contents = [
    requestBody?.content ?? {},
    ...successes.map(([, { content }]) => content ?? {}),
  ]
  return contents.flatMap((content) => Object.values(content).map(({ schema }) => schema))
}

/**
 * Whether a value has a description, or each of its alternatives has one. Generators ignore a description of the
 * only alternative to null.
 */
function isDescribed({ description = "", anyOf, oneOf }: Schema): boolean {
  const forms = anyOf ?? oneOf ?? []
  return description !== "" || (forms.length > 0 && forms.every(isDescribed))
}

/** Paths of the properties of a schema that have no description. */
function undescribedIn(schema: Schema, path: string): readonly string[] {
  const own = Object.entries(schema.properties ?? {})
  return [
    ...own.filter(([, one]) => !isDescribed(one)).map(([name]) => `${path}.${name}`),
    ...own.flatMap(([name, one]) => undescribedIn(one, `${path}.${name}`)),
    ...[schema.items ?? [], schema.anyOf ?? [], schema.oneOf ?? []]
      .flat()
      .flatMap((one) => undescribedIn(one, path)),
  ]
}

describe("an operation", () => {
  it("has the name of its route", () => {
    const names = Object.values(DOCUMENT.paths)
      .flatMap((verbs) => Object.values(verbs))
      .filter(({ tags }) => !tags.includes("retired"))
      .map(({ operationId }) => operationId)
    expect(names).toEqual(PROGRAM.entries.map(({ name }) => name))
    expect(names).toEqual(expect.arrayContaining(["sendText", "listMessages", "buyCredits"]))
  })

  it("belongs to one group, which has a description", () => {
    const pages = new Map(DOCUMENT.tags.map(({ name, description }) => [name, description]))
    for (const { operationId, tags } of OPERATIONS) {
      expect([operationId, tags.length]).toEqual([operationId, 1])
      expect(pages.get(tags[0] ?? ""), operationId).toMatch(/\.$/)
    }
    expect(pages.size).toBe(DOCUMENT.tags.length)
  })

  it("has named schemas for its request and answers", () => {
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

  it("describes every property and parameter (add `.describe()` to the schema)", () => {
    const undescribed = OPERATIONS.flatMap((operation) => {
      const { operationId, parameters = [] } = operation
      return [
        ...schemasOf(operation).flatMap((one) =>
          undescribedIn(inlineReferences(one, DOCUMENT), operationId),
        ),
        ...parameters.filter(({ description = "" }) => description === "").map(({ name }) => name),
      ]
    })
    expect(undescribed).toEqual([])
    const error = DOCUMENT.components.schemas["ApiError"] as Schema
    expect(undescribedIn(inlineReferences(error, DOCUMENT), "ApiError")).toEqual([])
  })
})

describe("the first page", () => {
  const { title, description } = DOCUMENT.info

  it("has the product's name", () => {
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
  ])("has a section %s", (heading, word) => {
    const section = description.split(/^(?=## )/m).find((one) => one.startsWith(`${heading}\n`))
    expect(section).toContain(word)
  })

  it("warns that a signed request can be repeated", () => {
    const { description: words } = DOCUMENT.components.securitySchemes.key
    expect(words).toContain("can be repeated unchanged while its time is within 60 seconds")
  })
})

describe("the document's text for callers", () => {
  it("does not mention the specification or decisions", () => {
    const shown = JSON.stringify(DOCUMENT, (key, value: unknown) =>
      key.startsWith("x-") ? undefined : value,
    )
    expect(shown).not.toMatch(/specification|decisions?\.md|spec-gap|beyond-spec/i)
  })
})

describe("a schema's name", () => {
  it("belongs to one schema", () => {
    const copy = { ...createRoute, url: "/api/v1/pretended/again" }
    expect(() => openApi([createRoute, copy], [], "")).not.toThrow()
    const other = { ...copy, reply: z.object({ another: z.string() }) }
    expect(() => openApi([createRoute, other], [], "")).toThrow("have the name MakeThingAnswer")
  })
})

const page = readFileSync(join(ROOT, "docs/api.md"), "utf8")
const codes = PROGRAM.routes.flatMap(({ refusalCodes = [] }) =>
  refusalCodes.map((one) => (typeof one === "string" ? one : one.error)),
)

it("docs/api.md lists every error code", () => {
  const named = new Set([...page.matchAll(/`([a-z_]+)`/g)].map(([, code]) => code))
  expect([...new Set(codes)].filter((code) => !named.has(code))).toEqual([])
  expect(codes).toContain("too_many_boxes")
})
