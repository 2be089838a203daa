/** The code rules of the project, and examples that each rule must accept or reject. */
import { homedir } from "node:os"
import ts from "typescript"
import { describe, expect, it } from "vitest"
import type { StyleViolation, SourceText } from "./source-tree.ts"
import {
  ROOT,
  styleViolationAt,
  syntaxTreeOf,
  walk,
  SHIPPED_FOLDERS,
  readTree,
} from "./source-tree.ts"

type Rule = (file: SourceText) => readonly StyleViolation[]

/** A rule that checks each node by itself; `faultOf` returns the fault of a node, or null. */
const eachNode =
  (faultOf: (node: ts.Node) => string | null): Rule =>
  (file) => {
    const source = syntaxTreeOf(file)
    const violations: StyleViolation[] = []
    walk(source, (node) => {
      const fault = faultOf(node)
      if (fault !== null) violations.push(styleViolationAt(source, node, fault))
    })
    return violations
  }

/** Markers of unfinished code. */
const UNFINISHED = /\b(TODO|FIXME|XXX|HACK|[Nn]ot implemented)\b/g

/** Words without meaning, at the end of a name or as a word of a file name. */
const EMPTY_NAME = /(Service|Manager|Helper|Util|Common)s?$/
const EMPTY_FILE_WORD = /^(service|manager|helper|util|common)s?$/

/** The line number of an index in a text, from 1. */
const lineOf = (text: string, index: number): number => text.slice(0, index).split("\n").length

/** Finds markers of unfinished code. */
function unfinishedWords(file: SourceText): readonly StyleViolation[] {
  return [...file.text.matchAll(UNFINISHED)].map(
    (match) => `${file.path}:${lineOf(file.text, match.index)}: unfinished: ${match[0]}`,
  )
}

/** Finds paths that exist on one machine only. */
function machinePaths(file: SourceText): readonly StyleViolation[] {
  const here = [ROOT, homedir()]
    .filter((path) => path.split(/[/\\]/).length > 2)
    .map((path) => path.replaceAll(/[^\w/]/g, "\\$&"))
  const paths = ["/home/\\w", "/Users/\\w", "/root/", "[A-Z]:\\\\Users\\\\", ...here]
  return [...file.text.matchAll(new RegExp(`(?<![\\w.:/}*-])(${paths.join("|")})`, "g"))].map(
    (match) => `${file.path}:${lineOf(file.text, match.index)}: a machine's path: ${match[0]}`,
  )
}

/**
 * Finds uses of a payment processor's search. Its index can be an hour behind, so it must not decide anything; Stripe's
 * objects are read by id and by lists.
 */
function searchedPayments(file: SourceText): readonly StyleViolation[] {
  return [...file.text.matchAll(/\.search\(/g)].map(
    (match) =>
      `${file.path}:${lineOf(file.text, match.index)}: uses a search index that can be stale`,
  )
}

/** Finds file names with words without meaning. */
function fileNames(file: SourceText): readonly StyleViolation[] {
  return file.path
    .replace(/\.[a-z.]+$/, "")
    .split(/[/-]/)
    .filter((word) => EMPTY_FILE_WORD.test(word))
    .map((word) => `${file.path}:1: "${word}" has no meaning`)
}

/** Whether a statement begins with `export`. */
function isExported(node: ts.Statement): boolean {
  if (!ts.canHaveModifiers(node)) return false
  return (ts.getModifiers(node) ?? []).some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)
}

function declaredNames(node: ts.Statement): readonly string[] {
  if (ts.isVariableStatement(node)) {
    return node.declarationList.declarations.map(({ name }) => name.getText())
  }
  const declaration = node as ts.Statement & { readonly name?: ts.Node }
  return declaration.name === undefined ? [] : [declaration.name.getText()]
}

/** Finds exported names that end in a word without meaning. */
function exportedNames(file: SourceText): readonly StyleViolation[] {
  const source = syntaxTreeOf(file)
  return source.statements.filter(isExported).flatMap((statement) =>
    declaredNames(statement)
      .filter((name) => EMPTY_NAME.test(name))
      .map((name) => styleViolationAt(source, statement, `"${name}" has no meaning`)),
  )
}

/** Members of globals that read the clock or random numbers. */
const IMPURE = /^(globalThis\.)?(Date\.now|Math\.random|performance\.\w+|crypto\.\w+|process\.\w+)$/

/** The part of an expression that reads the clock or random numbers; null if none does. */
function impurityOf(node: ts.Node): string | null {
  if (ts.isPropertyAccessExpression(node) && IMPURE.test(node.getText())) return node.getText()
  const isDate =
    (ts.isNewExpression(node) || ts.isCallExpression(node)) && node.expression.getText() === "Date"
  if (!isDate) return null
  if (ts.isCallExpression(node)) return "Date()"
  return (node.arguments ?? []).length === 0 ? "new Date()" : null
}

/** A signature names up to this many ports; functions that need more take all. */
const MAX_NAMED_PORTS = 6

/** Finds parameters of all ports that use only a few. */
const unnamedPorts = eachNode((node) => {
  if (!ts.isParameter(node) || !ts.isObjectBindingPattern(node.name)) return null
  const type = node.type?.getText() ?? ""
  const { elements } = node.name
  const isFew =
    elements.length <= MAX_NAMED_PORTS && elements.every((one) => one.dotDotDotToken === undefined)
  return /^(Admin)?Ports$/.test(type) && isFew
    ? `takes a few ports: declare Pick<${type}, …>`
    : null
})

/** Finds reads of the clock and of random numbers. Commands carry their time and ids. */
const impurities = eachNode((node) => {
  const impurity = impurityOf(node)
  return impurity === null ? null : `impure: ${impurity}`
})

/** A sentence: at least two words and a punctuation mark. */
const SENTENCE = /\S+\s+\S.*[.:!?]/s

function docsBefore(node: ts.Node): readonly string[] {
  const text = node.getSourceFile().text
  return (ts.getLeadingCommentRanges(text, node.pos) ?? [])
    .map(({ pos, end }) => text.slice(pos, end))
    .filter((comment) => comment.startsWith("/**"))
}

/** The text of a docstring without its asterisks. */
function wordsOf(doc: string): string {
  return doc
    .replace(/^\/\*\*|\*\/$/g, "")
    .replace(/^\s*\* ?/gm, "")
    .trim()
}

/** Whether a statement is an exported declaration. Re-exports and imports need no docstring. */
function isDeclaration(node: ts.Statement): boolean {
  return isExported(node) && !ts.isExportDeclaration(node) && !ts.isImportDeclaration(node)
}

/** Whether a statement declares a class or functions. The name of a type or a constant may say enough. */
function isCallable(statement: ts.Statement): boolean {
  if (!ts.isVariableStatement(statement)) {
    return ts.isFunctionDeclaration(statement) || ts.isClassDeclaration(statement)
  }
  return statement.declarationList.declarations.some(
    ({ initializer }) =>
      initializer !== undefined &&
      (ts.isArrowFunction(initializer) || ts.isFunctionExpression(initializer)),
  )
}

/** Finds exported functions and classes without a docstring, and docstrings that are not a sentence. */
function undocumented(file: SourceText): readonly StyleViolation[] {
  const source = syntaxTreeOf(file)
  const overloaded = new Set<string>()
  return source.statements.filter(isDeclaration).flatMap((statement) => {
    const names = declaredNames(statement)
    const name = names.join(", ")
    // The first signature of an overloaded function has the docstring.
    if (ts.isFunctionDeclaration(statement) && overloaded.has(name)) return []
    if (ts.isFunctionDeclaration(statement) && statement.body === undefined) overloaded.add(name)
    const doc = docsBefore(statement).at(-1)
    if (doc === undefined) {
      return isCallable(statement)
        ? [styleViolationAt(source, statement, `${name} has no docstring`)]
        : []
    }
    if (SENTENCE.test(wordsOf(doc))) return []
    return [styleViolationAt(source, statement, `the docstring of ${name} is not a sentence`)]
  })
}

/** The names of the errors that a node throws with `throw new X`, except plain `Error`. */
function thrownIn(node: ts.Node): ReadonlySet<string> {
  const names = new Set<string>()
  walk(node, (inner) => {
    if (!ts.isThrowStatement(inner) || !ts.isNewExpression(inner.expression)) return
    const name = inner.expression.expression.getText()
    // A plain Error means a bug, which callers do not handle.
    if (name !== "Error") names.add(name)
  })
  return names
}

function docsWithin(statement: ts.Statement): string {
  const inside = statement.getText().match(/\/\*\*.*?\*\//gs) ?? []
  return [...docsBefore(statement), ...inside].join("\n")
}

/** Finds exports that throw an error that their docstrings do not name. */
function unnamedErrors(file: SourceText): readonly StyleViolation[] {
  const source = syntaxTreeOf(file)
  return source.statements.filter(isDeclaration).flatMap((statement) => {
    const docs = docsWithin(statement)
    return [...thrownIn(statement)]
      .filter((error) => !new RegExp(`\\b${error}\\b`).test(docs))
      .map((error) => {
        const name = declaredNames(statement).join(", ")
        return styleViolationAt(source, statement, `${name} throws ${error} without documenting it`)
      })
  })
}

/** Calls that declare a test, with or without a table. */
const TEST = /^(it|test)(\.(only|concurrent|sequential|fails|each|for)\b.*)?$/s

/** Calls that assert: `expect…`, `assert…`, `fc.assert`, and a spec that begins with `given`. */
const ASSERTION = /^(expect|assert|fc\.assert|given)/

/** Whether a call declares a test: `it("…", …)`, `it.each(table)("…", …)`. */
function isTest(node: ts.Node): node is ts.CallExpression {
  if (!ts.isCallExpression(node) || !TEST.test(node.expression.getText())) return false
  // `it.each(table)` alone is the callee of the call that declares the tests.
  return !(ts.isCallExpression(node.parent) && node.parent.expression === node)
}

/** Whether an expression is an inline function. */
const isFunction = (node: ts.Node | undefined): node is ts.ArrowFunction | ts.FunctionExpression =>
  node !== undefined && (ts.isArrowFunction(node) || ts.isFunctionExpression(node))

/** Whether a node contains an assertion that can run. A function that is only returned never runs. */
function assertsWithin(node: ts.Node): boolean {
  if (ts.isCallExpression(node) && ASSERTION.test(node.expression.getText())) return true
  if (isFunction(node) && !ts.isCallExpression(node.parent) && !isNamed(node)) return false
  return ts.forEachChild(node, (child) => assertsWithin(child) || undefined) ?? false
}

/** Whether a function is assigned to a variable or a property, so that it can be called. */
function isNamed(node: ts.Node): boolean {
  return ts.isVariableDeclaration(node.parent) || ts.isPropertyAssignment(node.parent)
}

/** The reason why a test cannot fail; null if it can. */
function emptinessOf(test: ts.CallExpression): string | null {
  const body = test.arguments.find((argument, index) => index > 0 && isFunction(argument))
  if (!isFunction(body)) return "a test's body must be an inline function"
  if (isFunction(body.body)) return "a test's body returns a function, which never runs"
  return assertsWithin(body.body) ? null : "a test without an assertion"
}

/** Finds tests without an assertion, or with assertions in a function that never runs. */
const emptyTests = eachNode((node) => (isTest(node) ? emptinessOf(node) : null))

/** Whether an expression is `true` or `false`. */
const isBoolean = ({ kind }: ts.Node): boolean =>
  kind === ts.SyntaxKind.TrueKeyword || kind === ts.SyntaxKind.FalseKeyword

/** Whether an expression can be the reason of a skipped test. */
function isReason(node: ts.Expression | undefined): boolean {
  return (
    node !== undefined &&
    !isBoolean(node) &&
    (ts.isStringLiteralLike(node) ? node.text.includes(" ") : !ts.isPrefixUnaryExpression(node))
  )
}

/** Options that skip a test, hide the others, or allow failures. */
const HIDING_OPTIONS = /^(skip|todo|only|fails|retry)$/

/** How a call hides a test or asserts a constant; null if it does neither. */
function pretenceOf(call: ts.CallExpression): string | null {
  const callee = call.expression.getText()
  const options = call.arguments.find((argument) => ts.isObjectLiteralExpression(argument))
  const names = options?.properties.map((property) => property.name?.getText() ?? "") ?? []
  if (/^(it|test|describe)\b/.test(callee) && names.some((name) => HIDING_OPTIONS.test(name))) {
    return "an option hides a failing test"
  }
  if (/^(it|test|describe)\b.*\.only$/s.test(callee)) return "`only` hides the other tests"
  if (/^(it|test|describe)\b.*\.(skip|skipIf|runIf|todo)$/s.test(callee)) {
    return 'skip a test in its body, with a reason: `ctx.skip("…")`'
  }
  if (callee.endsWith(".skip") && /^(ctx|context|t|task)\./.test(callee)) {
    return isReason(call.arguments.at(-1)) ? null : "`skip` without a reason"
  }
  if (callee === "expect" && !ts.isPropertyAccessExpression(call.parent)) {
    return `\`${call.getText()}\` has no matcher`
  }
  const [first] = call.arguments
  const isLiteral =
    first !== undefined &&
    (ts.isLiteralExpression(first) || isBoolean(first) || first.getText() === "null")
  return callee === "expect" && isLiteral ? `\`${call.getText()}\` asserts nothing` : null
}

/** Finds tests that run alone or are skipped without a reason, and assertions about literals. */
const pretences = eachNode((node) => (ts.isCallExpression(node) ? pretenceOf(node) : null))

/** Finds casts that the compiler never rejects: through `unknown` and to `never`. */
const castsOfAnything = eachNode((node) => {
  if (!ts.isAsExpression(node)) return null
  const isThrough =
    ts.isAsExpression(node.expression) && node.expression.type.kind === ts.SyntaxKind.UnknownKeyword
  return isThrough || node.type.kind === ts.SyntaxKind.NeverKeyword
    ? "a cast through `unknown` or to `never`: declare the actual type"
    : null
})

/** The generic builders that may cast, each with the reason why its casts are sound. */
const BUILDERS: Readonly<Record<string, string>> = {
  "src/frame/effects/reaction.ts": "a reaction gets payloads that its schema has parsed",
  "src/frame/operator/commands.ts": "a command renders its own answer",
  "src/frame/operator/operation.ts": "an operation gets input that its schema has parsed",
  "src/frame/routes/declare/route.ts": "a route gets input that its schemas have parsed",
  "src/frame/writer/runner.ts": "a stream queue holds the state of the aggregate that callers name",
  "test/kernel/command-histories.ts": "a command is its type and the fields of that type",
  "test/support/decider-spec.ts": "a stamped command without its stamp is the command",
  "test/support/partial-fake.ts": "a test fails if it uses a member that it did not provide",
}

/** Each rule with a text that breaks it and a similar text that does not. */
const RULES: readonly (readonly [Rule, string, string])[] = [
  [unfinishedWords, "// TODO later", "// todos of the day"],
  [machinePaths, '"/home/ann/x"', "https://example.com/home/x"],
  [castsOfAnything, "const a = b as unknown as C", "const a = b as C"],
  [castsOfAnything, "call(b as never)", "call(b as Never)"],
  [searchedPayments, "stripe.customers.search({})", "stripe.paymentIntents.list({})"],
  [exportedNames, "export class ChargeService {}", "const innerHelper = 1"],
  [
    unnamedPorts,
    "const a = ({ log, work }: Ports) => log(work)",
    'const a = ({ log, work }: Pick<Ports, "log" | "work">) => log(work)',
  ],
  [impurities, "const a = new Date()", "const a = new Date(command.at)"],
  [
    emptyTests,
    'it("a", () => () => { expect(x).toBe(1) })',
    'it("a", () => { for (const x of y) { expect(x).toBe(1) } })',
  ],
  [
    pretences,
    'it("a", (ctx) => { ctx.skip(true) })',
    'it("a", (ctx) => { ctx.skip("no chromium") })',
  ],
  [
    pretences,
    'it("a", { retry: 5 }, () => { expect(x).toBe(1) })',
    'it("a", { timeout: 5 }, () => { expect(x).toBe(1) })',
  ],
  [
    undocumented,
    "/** Micros */\nexport const a = 1",
    "/** The price in micros. */\nexport const a = 1",
  ],
  [undocumented, "export const f = () => 1", "export const PRICE_MICROS = 1"],
  [undocumented, "export class Queue {}", "export interface Queue {}"],
  [
    unnamedErrors,
    "/** Adds two. */\nexport function a(): void { throw new TooLarge() }",
    "/** Adds two. @throws TooLarge over the limit */\nexport function a() { throw new TooLarge() }",
  ],
]

describe("each rule", () => {
  it.for(RULES)("%o rejects %j and accepts %j", ([rule, wrong, right]) => {
    expect(rule({ path: "src/a.ts", text: wrong })).not.toEqual([])
    expect(rule({ path: "src/a.ts", text: right })).toEqual([])
  })

  it("fileNames rejects a word without meaning and accepts a word that contains one", () => {
    expect(fileNames({ path: "src/money-util.ts", text: "" })).not.toEqual([])
    expect(fileNames({ path: "src/utility-bills.ts", text: "" })).toEqual([])
  })
})

const CODE = [".ts", ".mjs"]
const TEXT = [...CODE, ".cjs", ".json", ".md", ".sql", ".yaml", ".yml", ".example", ""]

const shipped = readTree(SHIPPED_FOLDERS, CODE)
const domain = readTree(["domain"], CODE)
// This file contains the forbidden patterns and examples of them.
const isRules = ({ path }: SourceText): boolean => path === "test/conventions/code-rules.test.ts"
const tests = readTree(["test", "bench"], CODE).filter((file) => !isRules(file))
const code = [...shipped, ...readTree(["bin"], CODE), ...tests]
const texts = readTree(["."], TEXT).filter(
  (file) => !isRules(file) && !["package-lock.json", "LICENSE"].includes(file.path),
)
const payments = shipped.filter(({ path }) => /^(adapters.providers.cards|src.credits)./.test(path))

describe("the project", () => {
  it("has unchecked casts only in its generic builders", () => {
    const all = readTree([...SHIPPED_FOLDERS, "console", "bench", "test"], [".ts", ".tsx"])
    const found = all.filter((file) => castsOfAnything(file).length > 0).map(({ path }) => path)
    expect(found).toEqual(Object.keys(BUILDERS))
  })

  it.for([
    ["has no markers of unfinished code", unfinishedWords, texts],
    ["has no paths of one machine", machinePaths, texts],
    ["decides no payment by a stale search index", searchedPayments, payments],
    ["has meaningful file names", fileNames, code],
    ["has meaningful names of exports", exportedNames, code],
    ["names the ports that a function uses", unnamedPorts, shipped],
    ["does not read the clock or random numbers in the domain", impurities, domain],
    ["has an assertion in every test", emptyTests, tests],
    ["skips no test without a reason and asserts no literal", pretences, tests],
    ["documents its functions and classes", undocumented, shipped],
    ["documents the errors that it throws", unnamedErrors, shipped],
  ] as const)("%s", ([, rule, files]) => {
    expect(files.length).toBeGreaterThan(1)
    expect(files.flatMap(rule)).toEqual([])
  })
})
