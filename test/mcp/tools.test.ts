/** Tool definitions are built from routes. */
import { readFileSync } from "node:fs"
import { Ajv2020 } from "ajv/dist/2020.js"
import { describe, expect, it } from "vitest"
import { z } from "zod"
import { CHUNKED_BODY } from "../../src/frame/routes/declare/route.ts"
import type { Route } from "../../src/frame/routes/declare/route.ts"
import { assemble } from "../../src/frame/slice.ts"
import type { McpTool } from "../../src/mcp/tools.ts"
import { buildMcpTools } from "../../src/mcp/tools.ts"
import { SLICES, PROGRAM } from "../../src/slices.ts"
import {
  SAMPLE_TOOLS,
  changeThingTool,
  getThingTool,
  listThingsTool,
  sampleToolsSlice,
} from "./mcp-client.ts"

const tools = buildMcpTools(SAMPLE_TOOLS)
const definitionOf = (name: string) => tools.get(name)?.definition

describe("a tool", () => {
  it("has a description, and its route's path and body fields as arguments", () => {
    expect(definitionOf("change_thing")).toEqual({
      name: "change_thing",
      title: "Change a thing",
      description: "Changes a thing.",
      inputSchema: {
        type: "object",
        properties: {
          thing: { type: "string", description: "The thing's id" },
          text: { type: "string", maxLength: 5_000_000, description: "What to write" },
          times: { type: "integer", minimum: 1, maximum: 9, default: 1, description: "How often" },
          note: { type: "string", description: "A note" },
          size: { type: "string", enum: ["small", "large"], description: "How large" },
          budget: { type: "number", minimum: 0.01, maximum: 500, description: "Dollars" },
        },
        required: ["thing", "text"],
        additionalProperties: false,
      },
      annotations: { readOnlyHint: false, destructiveHint: false },
    })
  })

  it('has its route\'s query parameters as arguments, with flags as "1"', () => {
    expect(definitionOf("list_things")).toMatchObject({
      inputSchema: {
        properties: {
          all: { type: "string", enum: ["1"], description: "Of all people" },
          path: { type: "string", description: "Where to look" },
        },
        required: [],
      },
      annotations: { readOnlyHint: true, destructiveHint: false },
    })
    expect(definitionOf("delete_thing")).toMatchObject({
      inputSchema: { required: ["thing", "path"] },
      annotations: { readOnlyHint: false, destructiveHint: true },
    })
  })

  it('has a flag as "1" even if its query also accepts other values', () => {
    const all = z.union([z.literal("1"), z.literal("true"), z.literal(1)]).optional()
    const query = z.object({ all: all.describe("All"), path: z.string().describe("Where") })
    const [listed] = [...buildMcpTools([{ ...listThingsTool, query }]).values()].map(
      (one) => one.definition,
    )
    expect(listed).toMatchObject({
      inputSchema: {
        properties: { all: { type: "string", enum: ["1"], description: "All" } },
        required: ["path"],
      },
    })
  })

  it("has a valid schema without references", () => {
    for (const { definition } of tools.values()) {
      const { inputSchema } = definition as { readonly inputSchema: object }
      expect(() =>
        new Ajv2020({ strict: true, allowUnionTypes: true }).compile(inputSchema),
      ).not.toThrow()
      expect(JSON.stringify(definition)).not.toMatch(/\$ref|\$defs|outputSchema/)
    }
    expect([...tools.keys()]).toEqual(SAMPLE_TOOLS.map(({ tool }) => tool?.name))
  })
})

describe("a route with an invalid tool", () => {
  const words = changeThingTool.tool
  const broken: readonly (readonly [string, Partial<Route>, string])[] = [
    [
      "has an argument that the route does not take",
      { tool: { ...words, arguments: { body: ["nothing"] } } as NonNullable<typeof words> },
      "change_thing takes nothing, but its route does not describe nothing",
    ],
    [
      "has an argument without a description",
      { body: z.object({ text: z.string() }) },
      "change_thing takes text, but its route does not describe text",
    ],
    ["has a path parameter without a schema", { params: z.object({}) }, "change_thing takes thing"],
    [
      "has an argument that is text or a number",
      { body: z.object({ text: z.union([z.string(), z.number()]).describe("Either") }) },
      "a tool argument must have a single type",
    ],
    ["answers with a file", { fileTypes: ["audio/mpeg"] }, "change_thing cannot be a tool"],
    ["answers with nothing", { bodilessStatuses: [200] }, "change_thing cannot be a tool"],
    ["takes a chunked body", { body: CHUNKED_BODY }, "change_thing cannot be a tool"],
  ]

  it.for(broken)("is rejected at startup if it %s", ([, change, why]) => {
    expect(() => buildMcpTools([{ ...changeThingTool, ...change }])).toThrow(why)
  })

  it("is rejected if another tool has the same name", () => {
    const twin = { ...listThingsTool, name: "twin", url: "/api/v1/twin" }
    const slices = [...SLICES, { ...sampleToolsSlice, routes: [...SAMPLE_TOOLS, twin] }]
    expect(() => assemble(slices)).toThrow("two slices contribute the tool list_things")
  })

  it("is not listed without a tool declaration", () => {
    const { tool: _none, ...plain } = getThingTool
    expect([...buildMcpTools([plain]).keys()]).toEqual([])
  })
})

/** JSON Schema keywords that Gemini, OpenAI and Anthropic all accept. */
const SHARED = new Set([
  "type",
  "description",
  "default",
  "enum",
  "items",
  "properties",
  "required",
  "minimum",
  "maximum",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
])
const TYPES = new Set(["string", "number", "integer", "boolean", "array", "object"])

/** Paths of the parts of a schema that some large clients do not accept. */
function unshared(schema: Readonly<Record<string, unknown>>, path: string): readonly string[] {
  const { type, default: usual, enum: values, items, properties = {} } = schema
  const own = Object.keys(schema).filter((name) => !SHARED.has(name))
  const parts = Object.entries(properties as Readonly<Record<string, object>>)
  const inner = items === undefined ? parts : [...parts, ["items", items as object] as const]
  return [
    ...own.map((name) => `${path} has ${name}`),
    ...(TYPES.has(String(type)) && !Array.isArray(type) ? [] : [`${path} has no type`]),
    ...(usual === null ? [`${path} is null by default`] : []),
    ...(values === undefined ||
    (Array.isArray(values) && type === "string" && values.every((one) => typeof one === "string"))
      ? []
      : [`${path} lists a value that is not text`]),
    ...inner.flatMap(([name, one]) => unshared({ ...one }, `${path}.${name}`)),
  ]
}

describe("the tools of the program", () => {
  const table = JSON.parse(
    readFileSync(new URL("../data/routes.json", import.meta.url), "utf8"),
  ) as readonly {
    readonly tool?: string
    readonly arguments?: readonly string[]
    readonly method: string
    readonly path: string
  }[]
  const rows = table.filter(({ tool }) => tool !== undefined)
  const built = PROGRAM.routes.filter(({ tool }) => tool !== undefined)

  it("have schemas that all large clients accept", () => {
    for (const [name, { definition }] of buildMcpTools(built)) {
      const { additionalProperties, ...schema } = definition["inputSchema"] as Record<
        string,
        unknown
      >
      expect([additionalProperties, unshared(schema, name)]).toEqual([false, []])
    }
    const mixed = { anyOf: [], default: null, enum: [1, "1"] }
    expect(unshared({ type: "object", properties: { a: mixed } }, "x")).toEqual([
      "x.a has anyOf",
      "x.a has no type",
      "x.a is null by default",
      "x.a lists a value that is not text",
    ])
  })

  it("are the tools of the specification's table, with their routes and arguments", () => {
    const listed = buildMcpTools(built)
    const found = built.map(({ tool, method, url }) => {
      const { inputSchema } = (listed.get(tool?.name ?? "") as McpTool).definition
      const { properties } = inputSchema as { readonly properties: object }
      return [tool?.name, method, url, Object.keys(properties).toSorted()]
    })
    const expected = rows
      .filter((row) =>
        PROGRAM.routes.some(({ method, url }) => method === row.method && url === row.path),
      )
      .map((row) => [row.tool, row.method, row.path, row.arguments?.toSorted()])
    expect(found).toEqual(expected)
    expect(rows).toHaveLength(16)
  })
})
