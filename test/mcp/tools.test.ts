/** Tools as they are listed, made from routes. */
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
const listedOf = (name: string) => tools.get(name)?.definition

describe("a tool", () => {
  it("says what it is, and takes what its route takes in path and body, described", () => {
    expect(listedOf("change_thing")).toEqual({
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

  it("takes what its query takes, and a flag as models say it", () => {
    expect(listedOf("list_things")).toMatchObject({
      inputSchema: {
        properties: {
          all: { type: "string", enum: ["1"], description: "Everybody's" },
          path: { type: "string", description: "Where to look" },
        },
        required: [],
      },
      annotations: { readOnlyHint: true, destructiveHint: false },
    })
    expect(listedOf("delete_thing")).toMatchObject({
      inputSchema: { required: ["thing", "path"] },
      annotations: { readOnlyHint: false, destructiveHint: true },
    })
  })

  it("takes a flag alike where its query takes more than 1 for it", () => {
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

  it("has a schema that is one, and refers to nothing", () => {
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

describe("a route that is no tool as it says", () => {
  const words = changeThingTool.tool
  const broken: readonly (readonly [string, Partial<Route>, string])[] = [
    [
      "takes what the route does not",
      { tool: { ...words, arguments: { body: ["nothing"] } } as NonNullable<typeof words> },
      "change_thing takes nothing, and its route does not describe nothing",
    ],
    [
      "takes what nothing describes",
      { body: z.object({ text: z.string() }) },
      "change_thing takes text, and its route does not describe text",
    ],
    [
      "takes a path's name that has no schema",
      { params: z.object({}) },
      "change_thing takes thing",
    ],
    [
      "takes texts or numbers",
      { body: z.object({ text: z.union([z.string(), z.number()]).describe("Either") }) },
      "an argument of a tool has one kind of value",
    ],
    ["answers with a file", { fileTypes: ["audio/mpeg"] }, "change_thing is no tool"],
    ["answers with nothing", { bodilessStatuses: [200] }, "change_thing is no tool"],
    ["takes pieces", { body: CHUNKED_BODY }, "change_thing is no tool"],
  ]

  it.for(broken)("is found before anybody calls it: it %s", ([, change, why]) => {
    expect(() => buildMcpTools([{ ...changeThingTool, ...change }])).toThrow(why)
  })

  it("is found where two have one name", () => {
    const twin = { ...listThingsTool, name: "twin", url: "/api/v1/twin" }
    const slices = [...SLICES, { ...sampleToolsSlice, routes: [...SAMPLE_TOOLS, twin] }]
    expect(() => assemble(slices)).toThrow("two slices contribute the tool list_things")
  })

  it("is no tool where it does not say that it is", () => {
    const { tool: _none, ...plain } = getThingTool
    expect([...buildMcpTools([plain]).keys()]).toEqual([])
  })
})

/** Keywords that Gemini, OpenAI and Anthropic all take. */
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

/** What of a schema not all large clients take, as paths. */
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
      : [`${path} lists what is no text`]),
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

  it("have schemas that all large clients take", () => {
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
      "x.a lists what is no text",
    ])
  })

  it("are those of the specification's table, each over its route and with its arguments", () => {
    const listed = buildMcpTools(built)
    const found = built.map(({ tool, method, url }) => {
      const { inputSchema } = (listed.get(tool?.name ?? "") as McpTool).definition
      const { properties } = inputSchema as { readonly properties: object }
      return [tool?.name, method, url, Object.keys(properties).toSorted()]
    })
    const wanted = rows
      .filter((row) =>
        PROGRAM.routes.some(({ method, url }) => method === row.method && url === row.path),
      )
      .map((row) => [row.tool, row.method, row.path, row.arguments?.toSorted()])
    expect(found).toEqual(wanted)
    expect(rows).toHaveLength(16)
  })
})
