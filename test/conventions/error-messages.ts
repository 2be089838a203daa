/** Finds every message of the API's errors in the source. */
import { join, relative } from "node:path"
import ts from "typescript"
import { ROOT } from "./source-tree.ts"

/** One message, with placeholders in braces for values that are known at run time. */
export interface ErrorMessage {
  /** The error code; null if it is chosen at run time. */
  readonly code: string | null
  readonly message: string
  /** The field of the request that the message is about; null for the whole request. */
  readonly field: string | null
  /** The source file, relative to the root. */
  readonly file: string
  /** Whether it is only an example in the API document. */
  readonly isExample: boolean
}

/** Maximum depth to which constants and functions are followed. */
const MAX_DEPTH = 8

/** The index of the message argument by schema method. */
const SCHEMA_MESSAGE_INDEX: Readonly<Record<string, number>> = {
  min: 1,
  max: 1,
  length: 1,
  regex: 1,
  refine: 1,
  startsWith: 1,
  endsWith: 1,
  includes: 1,
}

/** Functions that make a refusal from a code and a message. */
const REFUSAL_FUNCTIONS: ReadonlySet<string> = new Set(["refusal", "reject"])

/** The file whose messages complete a sentence about the company file. */
const COMPANY_FILE_SOURCE = "src/publishing/company-file.ts"

/** What a reader sees for these values; they are never replaced by their texts. */
const VALUE_NAMES: Readonly<Record<string, string>> = {
  allowed: "methods",
  charge: "charged or paid",
  done: "charged, paid or done",
  fault: "fault",
  faults: "field: what is wrong",
  lacking: "operation",
  limitName: "The company's AI",
  message: "what is wrong",
  needs: "permission",
  once: "charged, paid or done",
  own: "this server's name",
  paymentKind: "charged or paid",
  roles: "owner or admin",
  whose: "You do not / The key's person does not",
}

/** Names of properties that hold the message of a schema or of a field. */
const MESSAGE_PROPERTIES: ReadonlySet<string> = new Set(["error", "message"])

/** The API's errors in the source. */
export interface ErrorSource {
  /** Unique messages, sorted by code, field and text. */
  readonly messages: readonly ErrorMessage[]
  /** The HTTP statuses of the codes that slices declare. */
  readonly sliceStatuses: ReadonlyMap<string, number>
}

/** Finds all messages and the codes of slices. */
export function readErrorSource(): ErrorSource {
  const configFile = join(ROOT, "tsconfig.json")
  const { config } = ts.readConfigFile(configFile, (path) => ts.sys.readFile(path)) as {
    config: object
  }
  const { fileNames, options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT)
  const roots = fileNames.filter((name) => /^(src|domain)\//.test(relative(ROOT, name)))
  const program = ts.createProgram(roots, options)
  const reader = new MessageReader(program.getTypeChecker())
  const all = roots.flatMap((name) => {
    const source = program.getSourceFile(name)
    return source === undefined ? [] : reader.messagesOf(source)
  })
  const found = withoutExamples(all)
  const unique = new Map(found.map((one) => [`${one.code} ${one.field} ${one.message}`, one]))
  const keyOf = ({ code, field, message }: ErrorMessage) =>
    `${code ?? ""}\n${field ?? ""}\n${message}`
  const messages = [...unique.values()].toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
  return { messages, sliceStatuses: reader.sliceStatuses }
}

/** Leaves out the examples of codes that have messages. */
function withoutExamples(messages: readonly ErrorMessage[]): readonly ErrorMessage[] {
  const sent = new Set(messages.flatMap(({ code, isExample }) => (isExample ? [] : [code])))
  return messages.filter(({ code, isExample }) => !isExample || !sent.has(code))
}

class MessageReader {
  readonly sliceStatuses = new Map<string, number>()
  readonly #checker: ts.TypeChecker
  /** The arguments of the call by which a function is read, by its parameters. */
  #arguments: ReadonlyMap<ts.Declaration, ts.Expression> = new Map()

  constructor(checker: ts.TypeChecker) {
    this.#checker = checker
  }

  messagesOf(source: ts.SourceFile): readonly ErrorMessage[] {
    const file = relative(ROOT, source.fileName)
    const found: ErrorMessage[] = []
    const add: AddMessages = (code, field, messages, isExample = false) => {
      if (isSetting(field)) return
      for (const message of messages) {
        if (!isSentence(message)) continue
        if (file === COMPANY_FILE_SOURCE) {
          const sentence = `The company file (company.json) of this commit is invalid: ${field ?? "{field}"} ${message}.`
          found.push({ code: "company_file", field: null, message: sentence, file, isExample })
          continue
        }
        // Settings and operators' inputs have clauses, which begin with a small letter.
        if (/^[a-z]/.test(message)) continue
        // `custom` is the schema library's code of a handwritten rule.
        const shown = code === "custom" ? "validation" : code
        found.push({ code: shown, field, message, file, isExample })
      }
    }
    const hasSettings = source.text.includes("defineSettings(")
    const visit = (node: ts.Node): void => {
      if (ts.isCallExpression(node)) {
        this.#readRefusal(node, add)
        if (!hasSettings) this.#readSchemaMessage(node, add)
      }
      if (ts.isObjectLiteralExpression(node)) this.#readCodeAndMessage(node, add)
      ts.forEachChild(node, visit)
    }
    if (isOfApi(file)) visit(source)
    return found
  }

  /** Reads `refusal(code, message, {fields})`, once for each call of the function that it is in. */
  #readRefusal(call: ts.CallExpression, add: AddMessages): void {
    if (!REFUSAL_FUNCTIONS.has(call.expression.getText())) return
    const [code, message, details] = call.arguments
    if (code === undefined || message === undefined) return
    for (const given of this.#argumentsAround(call)) {
      this.#arguments = given
      const ofFields = details === undefined ? [] : this.#readFields(details, add)
      const texts = this.#texts(message).filter((text) => !ofFields.includes(text))
      for (const one of this.#codes(code)) add(one, null, texts)
    }
    this.#arguments = new Map()
  }

  /** The arguments of each call, in the same file, of the function that an expression is in. */
  #argumentsAround(node: ts.Node): readonly ReadonlyMap<ts.Declaration, ts.Expression>[] {
    const around = ts.findAncestor(node, ts.isFunctionDeclaration)
    const calls: ReadonlyMap<ts.Declaration, ts.Expression>[] = []
    const visit = (at: ts.Node): void => {
      if (ts.isCallExpression(at) && this.#declarationOf(at.expression) === around) {
        const pairs = (around?.parameters ?? []).flatMap((parameter, index) => {
          const argument = at.arguments[index]
          return argument === undefined ? [] : [[parameter, argument] as const]
        })
        calls.push(new Map(pairs))
      }
      ts.forEachChild(at, visit)
    }
    if (around !== undefined) visit(node.getSourceFile())
    return calls.length > 0 ? calls : [new Map()]
  }

  /** Reads the sentences of `fields` in the details of a rejection, and returns them. */
  #readFields(details: ts.Expression, add: AddMessages): readonly string[] {
    const fields = propertyOf(this.#resolved(details), "fields")
    const literal = fields === null ? null : this.#resolved(fields)
    if (literal === null || !ts.isObjectLiteralExpression(literal)) return []
    return literal.properties.flatMap((property) => {
      if (!ts.isPropertyAssignment(property)) return []
      const texts = this.#texts(property.initializer)
      add("validation", property.name.getText(), texts)
      return texts
    })
  }

  /** Reads `{code, message}` and `{error, status, example: {message}}`. */
  #readCodeAndMessage(literal: ts.ObjectLiteralExpression, add: AddMessages): void {
    const [error, status] = [propertyOf(literal, "error"), propertyOf(literal, "status")]
    if (error !== null && status !== null && ts.isNumericLiteral(status)) {
      for (const one of this.#codes(error)) {
        if (one !== null) this.sliceStatuses.set(one, Number(status.text))
      }
      const example = propertyOf(literal, "example")
      const shown = example === null ? null : propertyOf(example, "message")
      if (shown !== null) {
        for (const one of this.#codes(error)) add(one, null, this.#texts(shown), true)
      }
    }
    const message = propertyOf(literal, "message")
    const code = propertyOf(literal, "code")
    if (message !== null && code !== null) {
      for (const one of this.#codes(code)) add(one, null, this.#texts(message))
    }
  }

  /** Reads the message of a schema: `.min(1, "…")`, `.refine(check, {error: "…"})`. */
  #readSchemaMessage(call: ts.CallExpression, add: AddMessages): void {
    if (!ts.isPropertyAccessExpression(call.expression)) return
    const index = SCHEMA_MESSAGE_INDEX[call.expression.name.text]
    const argument = index === undefined ? undefined : call.arguments[index]
    if (argument === undefined) return
    const texts = ts.isObjectLiteralExpression(argument)
      ? argument.properties.flatMap((one) =>
          ts.isPropertyAssignment(one) && MESSAGE_PROPERTIES.has(one.name.getText())
            ? this.#texts(one.initializer)
            : [],
        )
      : this.#texts(argument)
    add("validation", fieldAround(call), texts)
  }

  /** The possible codes of an expression; null for a code that is chosen at run time. */
  #codes(expression: ts.Expression, most = 7): readonly (string | null)[] {
    const resolved = this.#resolved(expression)
    if (ts.isStringLiteralLike(resolved)) return [resolved.text]
    if (ts.isConditionalExpression(resolved)) {
      return [...this.#codes(resolved.whenTrue), ...this.#codes(resolved.whenFalse)]
    }
    if (ts.isObjectLiteralExpression(resolved)) {
      const error = propertyOf(resolved, "error")
      return error === null ? [null] : this.#codes(error)
    }
    const type = this.#checker.getTypeAtLocation(expression)
    const literals = type.isUnion() ? type.types : [type]
    const codes = literals.flatMap((one) => (one.isStringLiteral() ? [one.value] : []))
    return codes.length === literals.length && codes.length > 0 && codes.length <= most
      ? codes
      : [null]
  }

  #texts(expression: ts.Expression, depth = 0): readonly string[] {
    const placeholder = [`{${placeholderName(expression)}}`]
    if (depth > MAX_DEPTH) return placeholder
    const texts = (one: ts.Expression) => this.#texts(one, depth + 1)
    if (ts.isStringLiteralLike(expression)) return [expression.text]
    if (ts.isTemplateExpression(expression)) {
      return expression.templateSpans.reduce<readonly string[]>(
        (heads, { expression: value, literal }) => {
          const values = this.#isShortText(value) ? texts(value) : [`{${placeholderName(value)}}`]
          return heads.flatMap((head) => values.map((one) => head + one + literal.text))
        },
        [expression.head.text],
      )
    }
    if (ts.isBinaryExpression(expression)) {
      const [left, right] = [texts(expression.left), texts(expression.right)]
      switch (expression.operatorToken.kind) {
        case ts.SyntaxKind.PlusToken:
          return left.flatMap((one) => right.map((other) => one + other))
        case ts.SyntaxKind.QuestionQuestionToken:
          return [...left, ...right]
      }
      return placeholder
    }
    if (ts.isNumericLiteral(expression)) return [expression.text]
    if (ts.isConditionalExpression(expression)) {
      return this.#branches(expression).flatMap(texts)
    }
    if (ts.isParenthesizedExpression(expression) || ts.isAsExpression(expression)) {
      return texts(expression.expression)
    }
    if (ts.isElementAccessExpression(expression)) {
      const table = this.#resolved(expression.expression)
      if (!ts.isObjectLiteralExpression(table)) return placeholder
      const keys = this.#codes(expression.argumentExpression, Infinity)
      return table.properties.flatMap((one) => {
        if (!ts.isPropertyAssignment(one)) return []
        const isPossible = keys.includes(null) || keys.includes(nameOf(one))
        return isPossible ? texts(one.initializer) : []
      })
    }
    if (ts.isCallExpression(expression)) {
      const grouped = this.#groupedNumber(expression)
      if (grouped !== null) return [grouped]
      return this.#returned(expression, depth) ?? placeholder
    }
    const resolved = this.#resolved(expression)
    return resolved === expression ? placeholder : texts(resolved)
  }

  /** The branches of a choice; one if the call being read decides it. */
  #branches({
    condition,
    whenTrue,
    whenFalse,
  }: ts.ConditionalExpression): readonly ts.Expression[] {
    const isComparison =
      ts.isBinaryExpression(condition) &&
      condition.operatorToken.kind === ts.SyntaxKind.EqualsEqualsEqualsToken &&
      ts.isStringLiteralLike(condition.right)
    if (!isComparison || !ts.isStringLiteralLike(condition.right)) return [whenTrue, whenFalse]
    const [value, ...others] = this.#codes(condition.left)
    if (others.length > 0 || value === null) return [whenTrue, whenFalse]
    return [value === condition.right.text ? whenTrue : whenFalse]
  }

  /** Whether a value in a template is a constant text or number, or a choice between some. */
  #isShortText(value: ts.Expression): boolean {
    if (nameOfLast(value) in VALUE_NAMES) return false
    if (ts.isCallExpression(value)) {
      if (this.#groupedNumber(value) !== null) return true
      const declaration = this.#declarationOf(value.expression)
      const isHere = declaration?.getSourceFile() === value.getSourceFile()
      const returned = isHere ? (this.#returned(value, 0) ?? []) : []
      return returned.length === 1 && isSentence(returned.join())
    }
    const resolved = this.#resolved(value)
    return (
      ts.isStringLiteralLike(resolved) ||
      ts.isTemplateExpression(resolved) ||
      ts.isNumericLiteral(resolved) ||
      ts.isConditionalExpression(resolved)
    )
  }

  /** The text of `LIMIT.toLocaleString("en-US")`; null for other calls. */
  #groupedNumber({ expression }: ts.CallExpression): string | null {
    if (!ts.isPropertyAccessExpression(expression)) return null
    if (expression.name.text !== "toLocaleString") return null
    const value = this.#resolved(expression.expression)
    return ts.isNumericLiteral(value) ? Number(value.text).toLocaleString("en-US") : null
  }

  /** The texts that a function of the project returns; null if it returns something else. */
  #returned(call: ts.CallExpression, depth: number): readonly string[] | null {
    const declaration = this.#declarationOf(call.expression)
    const made =
      declaration !== null && ts.isVariableDeclaration(declaration)
        ? declaration.initializer
        : declaration
    if (made === undefined || made === null || !ts.isFunctionLike(made) || !("body" in made))
      return null
    const { body } = made
    if (body === undefined || body === null) return null
    if (!ts.isBlock(body)) return this.#texts(body, depth + 1)
    const found: string[] = []
    const visit = (node: ts.Node): void => {
      if (ts.isFunctionLike(node)) return
      if (ts.isReturnStatement(node) && node.expression !== undefined) {
        found.push(...this.#texts(node.expression, depth + 1))
      }
      ts.forEachChild(node, visit)
    }
    ts.forEachChild(body, visit)
    return found.length > 0 ? found : null
  }

  /** The initializer of a constant or property; the expression itself if there is none. */
  #resolved(expression: ts.Expression): ts.Expression {
    if (ts.isAsExpression(expression) || ts.isSatisfiesExpression(expression)) {
      return this.#resolved(expression.expression)
    }
    if (!ts.isIdentifier(expression) && !ts.isPropertyAccessExpression(expression))
      return expression
    const declaration = this.#declarationOf(expression)
    const argument = declaration === null ? undefined : this.#arguments.get(declaration)
    if (argument !== undefined) return this.#resolved(argument)
    const hasInitializer =
      declaration !== null &&
      (ts.isVariableDeclaration(declaration) || ts.isPropertyAssignment(declaration)) &&
      declaration.initializer !== undefined
    if (hasInitializer) return this.#resolved(declaration.initializer)
    if (!ts.isPropertyAccessExpression(expression)) return expression
    // The type of an annotated constant hides its properties.
    const object = this.#resolved(expression.expression)
    const property = propertyOf(object, expression.name.text)
    return property === null ? expression : this.#resolved(property)
  }

  #declarationOf(expression: ts.Expression): ts.Declaration | null {
    const symbol = this.#checker.getSymbolAtLocation(expression)
    if (symbol === undefined) return null
    const isAlias = (symbol.flags & ts.SymbolFlags.Alias) !== 0
    const target = isAlias ? this.#checker.getAliasedSymbol(symbol) : symbol
    return target.declarations?.[0] ?? null
  }
}

type AddMessages = (
  code: string | null,
  field: string | null,
  messages: readonly string[],
  isExample?: boolean,
) => void

/** Whether a file has messages of the API, not of operations or settings. */
const isOfApi = (file: string): boolean =>
  file.startsWith("src/") &&
  !/^src\/(bootstrap|frame\/operator)\/|\/(operate|providers)\//.test(file)

/** Whether a field is an environment variable. */
const isSetting = (field: string | null): boolean => field !== null && /^[A-Z][A-Z_]+$/.test(field)

/** Whether a text is more than a placeholder. */
const isSentence = (text: string): boolean => /[A-Za-z]{3}/.test(text.replaceAll(/\{[^}]*\}/g, ""))

/** The value of a property of an object literal; null if it has none. */
function propertyOf(node: ts.Expression, name: string): ts.Expression | null {
  if (!ts.isObjectLiteralExpression(node)) return null
  for (const property of node.properties) {
    if (property.name?.getText() !== name) continue
    if (ts.isPropertyAssignment(property)) return property.initializer
    if (ts.isShorthandPropertyAssignment(property)) return property.name
  }
  return null
}

/** The schema field that contains a call; null if none does. */
function fieldAround(node: ts.Node): string | null {
  for (let at = node.parent; at !== undefined; at = at.parent) {
    if (ts.isPropertyAssignment(at)) return at.name.getText()
    if (ts.isVariableDeclaration(at) || ts.isStatement(at)) return null
  }
  return null
}

/** The name of a value, for a placeholder: the object of a method without an argument that says more, or the last name. */
function placeholderName(expression: ts.Expression): string {
  if (ts.isCallExpression(expression)) {
    const [argument] = expression.arguments
    if (ts.isPropertyAccessExpression(expression.expression)) {
      return placeholderName(expression.expression.expression)
    }
    if (argument !== undefined) return placeholderName(argument)
  }
  const name = nameOfLast(expression)
  return VALUE_NAMES[name] ?? name
}

/** The last name in an expression. */
const nameOfLast = (expression: ts.Expression): string =>
  [...expression.getText().matchAll(/[A-Za-z]\w*/g)].at(-1)?.[0] ?? "value"

/** The name of a property, without quotes. */
const nameOf = (property: ts.PropertyAssignment): string =>
  ts.isStringLiteralLike(property.name) ? property.name.text : property.name.getText()
