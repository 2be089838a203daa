/**
 * Builds the command line's catalogue from the declared commands: options and arguments are the fields of a
 * command's input. The schema gives required, repeated and enumerated values; `.meta()` gives the rest.
 */
import type { ZodType, core } from "zod"
import { z } from "zod"
import type { ArgumentSpec, Catalogue, OptionSpec, ValueForm } from "./cli/command-spec.ts"
import type { OperatorCommand } from "./commands.ts"

/** Metadata of an input field for the command line. */
interface FieldMeta {
  readonly description?: string
  /** Makes the field a positional argument, with this name in the help text. */
  readonly argument?: string
  /** Name of the option, without dashes, if it differs from the field's. */
  readonly flag?: string
  /** Name of the option's value in the help text; default the name of its form, or of the option. */
  readonly takes?: string
  /** How the word is parsed; integers need none. */
  readonly form?: ValueForm
  /** Possible values in the order of the help text; default those of the schema. */
  readonly choices?: readonly string[]
  /** Values for shell completion that would make the help text too long. */
  readonly suggests?: readonly string[] | "read models"
}

declare module "zod" {
  // Declaration merging takes an interface.
  // oxlint-disable-next-line no-empty-object-type
  interface GlobalMeta extends FieldMeta {}
}

type Field = core.JSONSchema.BaseSchema & FieldMeta

/** Names of values in the help text, by form. */
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

/** The declarations that the catalogue is built from. */
interface CatalogueSource {
  readonly commands: readonly OperatorCommand[]
  readonly topics: Readonly<Record<string, string>>
  readonly readModels: readonly { readonly name: string }[]
  readonly settings: readonly { readonly from: string }[]
  readonly providers: readonly { readonly from: string }[]
}

/** Returns the commands as data, in order, without operations that the command line does not offer. */
export function catalogueOf(offered: CatalogueSource): Catalogue {
  const { commands, topics, readModels, settings, providers } = offered
  const names = readModels.map(({ name }) => name)
  const specs = commands.flatMap((command) => {
    const { does, name, summary, example, notes = [], input } = command
    if (summary === undefined || example === undefined) return []
    const flags = Object.entries(command).filter(
      ([flag, value]) => COMMAND_FLAGS.has(flag) && value,
    )
    return [
      {
        does,
        name,
        summary,
        notes,
        example,
        ...argumentsAndOptionsOf(input, names),
        ...Object.fromEntries(flags),
        ...(command.does === "local" ? { from: moduleOf(command) } : {}),
      },
    ]
  })
  return { topics, settings: modulesOf(settings), providers: modulesOf(providers), commands: specs }
}

/** The folder that module paths of the catalogue are relative to. */
const SOURCES = new URL("../../", import.meta.url).href

/** Returns a module's path relative to the sources. */
const moduleOf = ({ from }: { readonly from: string }): string => from.slice(SOURCES.length)

const modulesOf = (found: readonly { readonly from: string }[]): readonly string[] => [
  ...new Set(found.map(moduleOf)),
]

/** Properties of a command that the catalogue copies if set. */
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

/** Returns the schema of one value: the field itself, or the element of a repeated one. */
const elementOf = (field: Field): Field =>
  (field.type === "array" ? (field.items as Field | undefined) : undefined) ?? field

function suggestionsOf(field: Field, readModels: readonly string[]) {
  const { suggests } = elementOf(field)
  if (suggests === undefined) return {}
  return { suggests: suggests === "read models" ? readModels : suggests }
}

/** Returns the form and choices of a value, or of each element of a repeated one. */
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

/** Formats the catalogue with one command per line, so that diffs are readable. */
export function formatCatalogue(offered: CatalogueSource): string {
  const { commands, topics, settings, providers } = catalogueOf(offered)
  const lines = commands.map((spec) => JSON.stringify(spec))
  const modules = JSON.stringify({ settings, providers }).slice(1, -1)
  return `{"topics":${JSON.stringify(topics)},\n${modules},\n"commands":[\n${lines.join(",\n")}\n]}\n`
}
