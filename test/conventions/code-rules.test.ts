/** The rules of the house, and that each finds what breaks it. */
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

/** A rule that looks at each node by itself: what is wrong with it, or null. */
const eachNode =
  (faultOf: (node: ts.Node) => string | null): Rule =>
  (file) => {
    const source = syntaxTreeOf(file)
    const complaints: StyleViolation[] = []
    walk(source, (node) => {
      const fault = faultOf(node)
      if (fault !== null) complaints.push(styleViolationAt(source, node, fault))
    })
    return complaints
  }

/** What is left unfinished says so with one of these. */
const UNFINISHED = /\b(TODO|FIXME|XXX|HACK|[Nn]ot implemented)\b/g

/** Words that name no thing. At the end of a name, or as a word of a file's name. */
const EMPTY_NAME = /(Service|Manager|Helper|Util|Common)s?$/
const EMPTY_FILE_WORD = /^(service|manager|helper|util|common)s?$/

/** The line of a place in a text, counted from 1. */
const lineOf = (text: string, index: number): number => text.slice(0, index).split("\n").length

/** Words that say that something is left to do. */
function unfinishedWords(file: SourceText): readonly StyleViolation[] {
  return [...file.text.matchAll(UNFINISHED)].map(
    (match) => `${file.path}:${lineOf(file.text, match.index)}: unfinished: ${match[0]}`,
  )
}

/** Paths that exist on one machine only. */
function machinePaths(file: SourceText): readonly StyleViolation[] {
  const here = [ROOT, homedir()]
    .filter((path) => path.split(/[/\\]/).length > 2)
    .map((path) => path.replaceAll(/[^\w/]/g, "\\$&"))
  const places = ["/home/\\w", "/Users/\\w", "/root/", "[A-Z]:\\\\Users\\\\", ...here]
  return [...file.text.matchAll(new RegExp(`(?<![\\w.:/}*-])(${places.join("|")})`, "g"))].map(
    (match) => `${file.path}:${lineOf(file.text, match.index)}: a machine's path: ${match[0]}`,
  )
}

/**
 * Questions to the search of a payment processor: its index can be an hour behind, and decides nothing. The
 * objects of Stripe are asked for by their ids and by lists.
 */
function searchedPayments(file: SourceText): readonly StyleViolation[] {
  return [...file.text.matchAll(/\.search\(/g)].map(
    (match) => `${file.path}:${lineOf(file.text, match.index)}: asks a search that is behind`,
  )
}

/** A file whose name says nothing. */
function fileNames(file: SourceText): readonly StyleViolation[] {
  return file.path
    .replace(/\.[a-z.]+$/, "")
    .split(/[/-]/)
    .filter((word) => EMPTY_FILE_WORD.test(word))
    .map((word) => `${file.path}:1: "${word}" names no thing`)
}

/** Whether a statement begins with `export`. */
function isExported(node: ts.Statement): boolean {
  if (!ts.canHaveModifiers(node)) return false
  return (ts.getModifiers(node) ?? []).some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)
}

/** The names that a statement declares. */
function declaredNames(node: ts.Statement): readonly string[] {
  if (ts.isVariableStatement(node)) {
    return node.declarationList.declarations.map(({ name }) => name.getText())
  }
  const declaration = node as ts.Statement & { readonly name?: ts.Node }
  return declaration.name === undefined ? [] : [declaration.name.getText()]
}

/** Exported names that end in a word that names no thing. */
function exportedNames(file: SourceText): readonly StyleViolation[] {
  const source = syntaxTreeOf(file)
  return source.statements.filter(isExported).flatMap((statement) =>
    declaredNames(statement)
      .filter((name) => EMPTY_NAME.test(name))
      .map((name) => styleViolationAt(source, statement, `"${name}" names no thing`)),
  )
}

/** Members of globals that read the clock, or chance. */
const IMPURE = /^(globalThis\.)?(Date\.now|Math\.random|performance\.\w+|crypto\.\w+|process\.\w+)$/

/** Why an expression reads the clock or chance, or null. */
function impurityOf(node: ts.Node): string | null {
  if (ts.isPropertyAccessExpression(node) && IMPURE.test(node.getText())) return node.getText()
  const isDate =
    (ts.isNewExpression(node) || ts.isCallExpression(node)) && node.expression.getText() === "Date"
  if (!isDate) return null
  if (ts.isCallExpression(node)) return "Date()"
  return (node.arguments ?? []).length === 0 ? "new Date()" : null
}

/** As many ports as a signature names; what takes more takes them all. */
const MAX_NAMED_PORTS = 6

/** Parameters that take a few ports out of all of them. */
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

/** Places that read the clock or chance. Commands carry their time and their ids. */
const impurities = eachNode((node) => {
  const impurity = impurityOf(node)
  return impurity === null ? null : `impure: ${impurity}`
})

/** A sentence: two words at least, and a stop. */
const SENTENCE = /\S+\s+\S.*[.:!?]/s

/** All docstrings that stand before a node, as they are written. */
function docsBefore(node: ts.Node): readonly string[] {
  const text = node.getSourceFile().text
  return (ts.getLeadingCommentRanges(text, node.pos) ?? [])
    .map(({ pos, end }) => text.slice(pos, end))
    .filter((comment) => comment.startsWith("/**"))
}

/** The words of a docstring without its stars. */
function wordsOf(doc: string): string {
  return doc
    .replace(/^\/\*\*|\*\/$/g, "")
    .replace(/^\s*\* ?/gm, "")
    .trim()
}

/** Whether a statement can be exported by itself: re-exports and imports carry no docstring. */
function isDeclaration(node: ts.Statement): boolean {
  return isExported(node) && !ts.isExportDeclaration(node) && !ts.isImportDeclaration(node)
}

/** Exported things without a docstring of at least a sentence. */
function undocumented(file: SourceText): readonly StyleViolation[] {
  const source = syntaxTreeOf(file)
  const overloaded = new Set<string>()
  return source.statements.filter(isDeclaration).flatMap((statement) => {
    const names = declaredNames(statement)
    const name = names.join(", ")
    // Of an overloaded function the first signature carries the docstring.
    if (ts.isFunctionDeclaration(statement) && overloaded.has(name)) return []
    if (ts.isFunctionDeclaration(statement) && statement.body === undefined) overloaded.add(name)
    const doc = docsBefore(statement).at(-1)
    if (doc === undefined) return [styleViolationAt(source, statement, `${name} has no docstring`)]
    if (SENTENCE.test(wordsOf(doc))) return []
    return [styleViolationAt(source, statement, `the docstring of ${name} is no sentence`)]
  })
}

/** The names of the errors that a node throws by `throw new X`, plain `Error` left out. */
function thrownIn(node: ts.Node): ReadonlySet<string> {
  const names = new Set<string>()
  walk(node, (inner) => {
    if (!ts.isThrowStatement(inner) || !ts.isNewExpression(inner.expression)) return
    const name = inner.expression.expression.getText()
    // A plain Error says that the program itself is wrong: no caller can prepare for it.
    if (name !== "Error") names.add(name)
  })
  return names
}

/** All docstrings before a statement and inside it. */
function docsWithin(statement: ts.Statement): string {
  const inside = statement.getText().match(/\/\*\*.*?\*\//gs) ?? []
  return [...docsBefore(statement), ...inside].join("\n")
}

/** Exported things that throw an error which no docstring of theirs names. */
function unnamedErrors(file: SourceText): readonly StyleViolation[] {
  const source = syntaxTreeOf(file)
  return source.statements.filter(isDeclaration).flatMap((statement) => {
    const docs = docsWithin(statement)
    return [...thrownIn(statement)]
      .filter((error) => !new RegExp(`\\b${error}\\b`).test(docs))
      .map((error) => {
        const name = declaredNames(statement).join(", ")
        return styleViolationAt(source, statement, `${name} throws ${error} and does not say so`)
      })
  })
}

/** Calls that declare a test, with or without a table before the name. */
const TEST = /^(it|test)(\.(only|concurrent|sequential|fails|each|for)\b.*)?$/s

/** Calls that assert: `expect…`, `assert…`, `fc.assert`, and a spec that begins with `given`. */
const ASSERTION = /^(expect|assert|fc\.assert|given)/

/** Whether a call declares a test: `it("…", …)`, `it.each(table)("…", …)`. */
function isTest(node: ts.Node): node is ts.CallExpression {
  if (!ts.isCallExpression(node) || !TEST.test(node.expression.getText())) return false
  // `it.each(table)` alone is the callee of the call that declares the tests.
  return !(ts.isCallExpression(node.parent) && node.parent.expression === node)
}

/** Whether an expression is a function written in place. */
const isFunction = (node: ts.Node | undefined): node is ts.ArrowFunction | ts.FunctionExpression =>
  node !== undefined && (ts.isArrowFunction(node) || ts.isFunctionExpression(node))

/** Whether a call runs the functions that it is given: a function that is only returned never runs. */
function assertsWithin(node: ts.Node): boolean {
  if (ts.isCallExpression(node) && ASSERTION.test(node.expression.getText())) return true
  if (isFunction(node) && !ts.isCallExpression(node.parent) && !isNamed(node)) return false
  return ts.forEachChild(node, (child) => assertsWithin(child) || undefined) ?? false
}

/** Whether a function is kept under a name or in an object, where something can call it. */
function isNamed(node: ts.Node): boolean {
  return ts.isVariableDeclaration(node.parent) || ts.isPropertyAssignment(node.parent)
}

/** Why a test cannot fail, or null. */
function emptinessOf(test: ts.CallExpression): string | null {
  const body = test.arguments.find((argument, index) => index > 0 && isFunction(argument))
  if (!isFunction(body)) return "a test's body is a function written in place"
  if (isFunction(body.body)) return "a test's body returns a function, which never runs"
  return assertsWithin(body.body) ? null : "a test without an assertion"
}

/** Tests that assert nothing, or that wrap what they assert in a function that never runs. */
const emptyTests = eachNode((node) => (isTest(node) ? emptinessOf(node) : null))

/** Whether an expression is `true` or `false`. */
const isBoolean = ({ kind }: ts.Node): boolean =>
  kind === ts.SyntaxKind.TrueKeyword || kind === ts.SyntaxKind.FalseKeyword

/** Whether an expression can be the words that say why a test is skipped. */
function isReason(node: ts.Expression | undefined): boolean {
  return (
    node !== undefined &&
    !isBoolean(node) &&
    (ts.isStringLiteralLike(node) ? node.text.includes(" ") : !ts.isPrefixUnaryExpression(node))
  )
}

/** Options that leave a test out, hide the others, or let it fail. */
const PRETENDING = /^(skip|todo|only|fails|retry)$/

/** Why a call hides a test or asserts what is always so, or null. */
function pretenceOf(call: ts.CallExpression): string | null {
  const callee = call.expression.getText()
  const options = call.arguments.find((argument) => ts.isObjectLiteralExpression(argument))
  const names = options?.properties.map((property) => property.name?.getText() ?? "") ?? []
  if (/^(it|test|describe)\b/.test(callee) && names.some((name) => PRETENDING.test(name))) {
    return "an option lets a test pass that does not"
  }
  if (/^(it|test|describe)\b.*\.only$/s.test(callee)) return "`only` hides the other tests"
  if (/^(it|test|describe)\b.*\.(skip|skipIf|runIf|todo)$/s.test(callee)) {
    return 'a test is skipped from inside, with its reason: `ctx.skip("…")`'
  }
  if (callee.endsWith(".skip") && /^(ctx|context|t|task)\./.test(callee)) {
    return isReason(call.arguments.at(-1)) ? null : "`skip` without a reason"
  }
  if (callee === "expect" && !ts.isPropertyAccessExpression(call.parent)) {
    return `\`${call.getText()}\` is compared with nothing`
  }
  const [first] = call.arguments
  const isLiteral =
    first !== undefined &&
    (ts.isLiteralExpression(first) || isBoolean(first) || first.getText() === "null")
  return callee === "expect" && isLiteral ? `\`${call.getText()}\` asserts nothing` : null
}

/** Tests left alone or left out, and assertions about a literal. */
const pretences = eachNode((node) => (ts.isCallExpression(node) ? pretenceOf(node) : null))

/** Casts that no type can be wrong enough for: through `unknown`, and to `never`. */
const castsOfAnything = eachNode((node) => {
  if (!ts.isAsExpression(node)) return null
  const isThrough =
    ts.isAsExpression(node.expression) && node.expression.type.kind === ts.SyntaxKind.UnknownKeyword
  return isThrough || node.type.kind === ts.SyntaxKind.NeverKeyword
    ? "a cast through `unknown` or to `never`: declare the type that it has"
    : null
})

/** The generic builders, in which types are forgotten or meet again, each with the reason why that is sound. */
const BUILDERS: Readonly<Record<string, string>> = {
  "src/frame/effects/reaction.ts": "a reaction gets payloads that its own schema has parsed",
  "src/frame/operator/commands.ts": "a command renders what it has answered itself",
  "src/frame/operator/operation.ts": "an operation gets input that its own schema has parsed",
  "src/frame/routes/declare/route.ts": "a route is called with what its own schemas have parsed",
  "src/frame/writer/runner.ts": "a lane holds the state of the aggregate that callers name",
  "test/kernel/command-histories.ts": "a command is its type and the fields that the type asks for",
  "test/support/decider-spec.ts": "a stamped command without its stamp is the command",
  "test/support/partial-fake.ts": "a test that uses what it did not give fails",
}

/** Each rule with a text that it must complain about, and a text like it that is right. */
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
  [
    unnamedErrors,
    "/** Adds two. */\nexport function a(): void { throw new TooLarge() }",
    "/** Adds two. @throws TooLarge over the limit */\nexport function a() { throw new TooLarge() }",
  ],
]

describe("each rule", () => {
  it.for(RULES)("%o complains about %j and not about %j", ([rule, wrong, right]) => {
    expect(rule({ path: "src/a.ts", text: wrong })).not.toEqual([])
    expect(rule({ path: "src/a.ts", text: right })).toEqual([])
  })

  it("fileNames complains about a name that says nothing and not about one that does", () => {
    expect(fileNames({ path: "src/money-util.ts", text: "" })).not.toEqual([])
    expect(fileNames({ path: "src/utility-bills.ts", text: "" })).toEqual([])
  })
})

const CODE = [".ts", ".mjs"]
const TEXT = [...CODE, ".cjs", ".json", ".md", ".sql", ".yaml", ".yml", ".example", ""]

const shipped = readTree(SHIPPED_FOLDERS, CODE)
const domain = readTree(["domain"], CODE)
// The rules name what they forbid, and the snippets that they are tried on break them on purpose.
const isRules = ({ path }: SourceText): boolean => path === "test/conventions/code-rules.test.ts"
const tests = readTree(["test", "bench"], CODE).filter((file) => !isRules(file))
const code = [...shipped, ...readTree(["bin"], CODE), ...tests]
const texts = readTree(["."], TEXT).filter(
  (file) => !isRules(file) && !["package-lock.json", "LICENSE"].includes(file.path),
)
const payments = shipped.filter(({ path }) => /^(adapters.providers.cards|src.credits)./.test(path))

describe("the house", () => {
  it("casts anything to anything in its generic builders alone", () => {
    const all = readTree([...SHIPPED_FOLDERS, "console", "bench", "test"], [".ts", ".tsx"])
    const found = all.filter((file) => castsOfAnything(file).length > 0).map(({ path }) => path)
    expect(found).toEqual(Object.keys(BUILDERS))
  })

  it.for([
    ["leaves nothing unfinished", unfinishedWords, texts],
    ["names no machine's path", machinePaths, texts],
    ["decides no payment by a search that is behind", searchedPayments, payments],
    ["names its files for what is in them", fileNames, code],
    ["names its exports for what they are", exportedNames, code],
    ["names the ports that a function uses", unnamedPorts, shipped],
    ["keeps the clock and chance out of the domain", impurities, domain],
    ["asserts something in every test", emptyTests, tests],
    ["skips no test without a reason and asserts no literal", pretences, tests],
    ["documents what it exports", undocumented, shipped],
    ["names the errors that it throws", unnamedErrors, shipped],
  ] as const)("%s", ([, rule, files]) => {
    expect(files.length).toBeGreaterThan(1)
    expect(files.flatMap(rule)).toEqual([])
  })
})
