/**
 * What the command line offers, made from what is declared: the options and arguments of a command
 * are the fields of its input. The schema says what is required, repeated or one of several; what it
 * does not say stands in the fields' `.meta()`.
 */
import type { ZodType, core } from "zod"
import { z } from "zod"
import type { ArgumentSpec, Catalogue, OptionSpec } from "./cli/command.ts"
import type { Form } from "./cli/option-values.ts"
import type { Command } from "./commands.ts"

/** What a field of an input says of its word on the command line. */
interface FieldWords {
  readonly description?: string
  /** The field is a word by its place, which help shows by this name. */
  readonly argument?: string
  /** The option's name where it is not the field's, without dashes. */
  readonly flag?: string
  /** What help calls the option's value; default what its form is called, or the option. */
  readonly takes?: string
  /** How the word is read; whole numbers say it themselves. */
  readonly form?: Form
  /** All values there are, in the order of help; default that of the schema. */
  readonly choices?: readonly string[]
}

declare module "zod" {
  // oxlint-disable-next-line no-empty-object-type
  interface GlobalMeta extends FieldWords {}
}

type Field = core.JSONSchema.BaseSchema & FieldWords

/** What help calls a value by its form. */
const VALUES: Partial<Record<Form, string>> = {
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
interface Offered {
  readonly commands: readonly Command[]
  readonly topics: Readonly<Record<string, string>>
}

/** The commands as data, in their order; operations that the command line does not offer are left out. */
export function catalogueOf({ commands, topics }: Offered): Catalogue {
  const specs = commands.flatMap((command) => {
    const { does, name, summary, example, notes = [], input } = command
    if (summary === undefined || example === undefined) return []
    const said = Object.entries(command).filter(([flag, value]) => FLAGS.has(flag) && value)
    return [
      {
        ...{ does, name, summary, notes, example },
        ...wordsOf(input),
        ...Object.fromEntries(said),
      },
    ]
  })
  return { topics, commands: specs }
}

/** What a command says of itself, where it does. */
const FLAGS: ReadonlySet<string> = new Set([
  "changes",
  "needsReason",
  "irreversible",
  "hasFile",
  "hasSecretFile",
  "isVerdict",
])

function wordsOf(input: ZodType) {
  const schema = z.toJSONSchema(input, { io: "input", unrepresentable: "any" })
  const required = new Set(schema.required)
  const fields = Object.entries((schema.properties ?? {}) as Record<string, Field>)
  return {
    arguments: fields
      .filter(([, field]) => field.argument !== undefined)
      .map(([name, field]) => argumentOf(name, field, required.has(name))),
    options: fields
      .filter(([, field]) => field.argument === undefined)
      .map(([name, field]) => optionOf(name, field, required.has(name))),
  }
}

function argumentOf(name: string, field: Field, isRequired: boolean): ArgumentSpec {
  const { argument = name, description = name } = field
  const isVariadic = field.type === "array"
  return {
    ...{ name: argument, description, field: name },
    ...(isRequired ? {} : { isOptional: true as const }),
    ...(isVariadic ? { isVariadic: true as const } : {}),
    ...valuesOf(field),
  }
}

function optionOf(name: string, field: Field, isRequired: boolean): OptionSpec {
  const word = field.flag ?? name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  const values = valuesOf(field)
  const value = field.takes ?? (values.form && VALUES[values.form]) ?? word
  const flags =
    field.type === "boolean"
      ? `--${field.default === true ? "no-" : ""}${word}`
      : `--${word} <${value}${field.type === "array" ? "..." : ""}>`
  const isOwn = field.flag === undefined
  return {
    ...{ flags, description: field.description ?? name },
    ...(isOwn ? {} : { field: name }),
    ...(isRequired ? { isRequired: true as const } : {}),
    ...values,
  }
}

/** How a word is read, and which there are; of a repeated one each. */
function valuesOf(field: Field): { readonly form?: Form; readonly choices?: readonly string[] } {
  const one = (field.type === "array" ? (field.items as Field | undefined) : undefined) ?? field
  const choices = field.choices ?? one.choices ?? (one.enum as readonly string[] | undefined)
  const form = field.form ?? one.form ?? (one.type === "integer" ? formOfNumber(one) : undefined)
  return {
    ...(form === undefined ? {} : { form }),
    ...(choices === undefined ? {} : { choices }),
  }
}

const formOfNumber = ({ exclusiveMinimum }: Field): Form =>
  exclusiveMinimum === 0 ? "count" : "revision"

/** The catalogue as it is kept in a file: a command a line, so that a change shows as what it is. */
export function catalogueText(offered: Offered): string {
  const { commands, topics } = catalogueOf(offered)
  const lines = commands.map((spec) => JSON.stringify(spec))
  return `{"topics":${JSON.stringify(topics)},\n"commands":[\n${lines.join(",\n")}\n]}\n`
}
