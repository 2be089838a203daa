/**
 * What the command line offers, made from what is declared: the options and arguments of a command
 * are the fields of its input. The schema says what is required, repeated or one of several; what it
 * does not say stands in the fields' `.meta()`.
 */
import type { ZodType, core } from "zod"
import { z } from "zod"
import type { ArgumentSpec, Catalogue, OptionSpec, ValueForm } from "./cli/command-spec.ts"
import type { OperatorCommand } from "./commands.ts"

/** What a field of an input says of its word on the command line. */
interface FieldMeta {
  readonly description?: string
  /** The field is a word by its place, which help shows by this name. */
  readonly argument?: string
  /** The option's name where it is not the field's, without dashes. */
  readonly flag?: string
  /** What help calls the option's value; default what its form is called, or the option. */
  readonly takes?: string
  /** How the word is read; whole numbers say it themselves. */
  readonly form?: ValueForm
  /** All values there are, in the order of help; default that of the schema. */
  readonly choices?: readonly string[]
  /** What a shell completes it to, where help would be too long with it. */
  readonly suggests?: readonly string[] | "read models"
}

declare module "zod" {
  // Declaration merging takes an interface.
  // oxlint-disable-next-line no-empty-object-type
  interface GlobalMeta extends FieldMeta {}
}

type Field = core.JSONSchema.BaseSchema & FieldMeta

/** What help calls a value by its form. */
const VALUE_NAMES: Partial<Record<ValueForm, string>> = {
  change: "dollars",
  count: "number",
  day: "day",
  digits: "number",
  dollars: "dollars",
  hash: "hash",
  month: "month",
  "public-key": "key",
  revision: "revision",
  time: "time",
}

/** What the catalogue is made from. */
interface CatalogueSource {
  readonly commands: readonly OperatorCommand[]
  readonly topics: Readonly<Record<string, string>>
  readonly readModels: readonly { readonly name: string }[]
  readonly settings: readonly { readonly from: string }[]
  readonly providers: readonly { readonly from: string }[]
}

/** The commands as data, in their order; operations that the command line does not offer are left out. */
export function catalogueOf(offered: CatalogueSource): Catalogue {
  const { commands, topics, readModels, settings, providers } = offered
  const names = readModels.map(({ name }) => name)
  const specs = commands.flatMap((command) => {
    const { does, name, summary, example, notes = [], input } = command
    if (summary === undefined || example === undefined) return []
    const said = Object.entries(command).filter(([flag, value]) => COMMAND_FLAGS.has(flag) && value)
    return [
      {
        does,
        name,
        summary,
        notes,
        example,
        ...argumentsAndOptionsOf(input, names),
        ...Object.fromEntries(said),
        ...(command.does === "local" ? { from: moduleOf(command) } : {}),
      },
    ]
  })
  return { topics, settings: modulesOf(settings), providers: modulesOf(providers), commands: specs }
}

/** Where modules are that the catalogue names. */
const SOURCES = new URL("../../", import.meta.url).href

/** A module by its place below the sources. */
const moduleOf = ({ from }: { readonly from: string }): string => from.slice(SOURCES.length)

const modulesOf = (found: readonly { readonly from: string }[]): readonly string[] => [
  ...new Set(found.map(moduleOf)),
]

/** What a command says of itself, where it does. */
const COMMAND_FLAGS: ReadonlySet<string> = new Set([
  "changes",
  "needsReason",
  "irreversible",
  "hasFile",
  "isPrivate",
  "hasSecretFile",
  "isVerdict",
])

function fieldsOf(input: ZodType) {
  const { properties = {}, required } = z.toJSONSchema(input, {
    io: "input",
    unrepresentable: "any",
  })
  return { properties: properties as Record<string, Field>, required: new Set(required) }
}

function argumentsAndOptionsOf(input: ZodType, readModels: readonly string[]) {
  const { properties, required } = fieldsOf(input)
  const fields = Object.entries(properties)
  return {
    arguments: fields
      .filter(([, field]) => field.argument !== undefined)
      .map(([name, field]) => ({
        ...argumentOf(name, field, required.has(name)),
        ...suggestionsOf(field, readModels),
      })),
    options: fields
      .filter(([, field]) => field.argument === undefined)
      .map(([name, field]) => ({
        ...optionOf(name, field, required.has(name)),
        ...suggestionsOf(field, readModels),
      })),
  }
}

function argumentOf(name: string, field: Field, isRequired: boolean): ArgumentSpec {
  const { argument = name, description = name } = field
  const isVariadic = field.type === "array"
  return {
    name: argument,
    description,
    field: name,
    ...(isRequired ? {} : { isOptional: true as const }),
    ...(isVariadic ? { isVariadic: true as const } : {}),
    ...valuesOf(field),
  }
}

function optionOf(name: string, field: Field, isRequired: boolean): OptionSpec {
  const word = field.flag ?? name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  const values = valuesOf(field)
  const value = field.takes ?? (values.form && VALUE_NAMES[values.form]) ?? word
  const flags =
    field.type === "boolean"
      ? `--${field.default === true ? "no-" : ""}${word}`
      : `--${word} <${value}${field.type === "array" ? "..." : ""}>`
  const isOwn = field.flag === undefined
  return {
    flags,
    description: field.description ?? name,
    ...(isOwn ? {} : { field: name }),
    ...(isRequired ? { isRequired: true as const } : {}),
    ...values,
  }
}

/** The field itself; of a repeated one each. */
const elementOf = (field: Field): Field =>
  (field.type === "array" ? (field.items as Field | undefined) : undefined) ?? field

function suggestionsOf(field: Field, readModels: readonly string[]) {
  const { suggests } = elementOf(field)
  if (suggests === undefined) return {}
  return { suggests: suggests === "read models" ? readModels : suggests }
}

/** How a word is read, and which there are; of a repeated one each. */
function valuesOf(field: Field): {
  readonly form?: ValueForm
  readonly choices?: readonly string[]
} {
  const one = elementOf(field)
  const choices = field.choices ?? one.choices ?? (one.enum as readonly string[] | undefined)
  const form = field.form ?? one.form ?? (one.type === "integer" ? formOfNumber(one) : undefined)
  return {
    ...(form === undefined ? {} : { form }),
    ...(choices === undefined ? {} : { choices }),
  }
}

const formOfNumber = ({ exclusiveMinimum }: Field): ValueForm =>
  exclusiveMinimum === 0 ? "count" : "revision"

/** The catalogue as it is kept in a file: a command a line, so that a change shows as what it is. */
export function formatCatalogue(offered: CatalogueSource): string {
  const { commands, topics, settings, providers } = catalogueOf(offered)
  const lines = commands.map((spec) => JSON.stringify(spec))
  const modules = JSON.stringify({ settings, providers }).slice(1, -1)
  return `{"topics":${JSON.stringify(topics)},\n${modules},\n"commands":[\n${lines.join(",\n")}\n]}\n`
}
