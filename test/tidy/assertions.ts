import ts from "typescript"
import { type Complaint, type SourceText, complain, parse, walk } from "./tree.ts"

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
export function emptyTests(file: SourceText): readonly Complaint[] {
  const source = parse(file)
  const complaints: Complaint[] = []
  walk(source, (node) => {
    if (!isTest(node)) return
    const emptiness = emptinessOf(node)
    if (emptiness !== null) complaints.push(complain(source, node, emptiness))
  })
  return complaints
}

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

/** Why a call hides a test or asserts what is always so, or null. */
function pretenceOf(call: ts.CallExpression): string | null {
  const callee = call.expression.getText()
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
export function pretences(file: SourceText): readonly Complaint[] {
  const source = parse(file)
  const complaints: Complaint[] = []
  walk(source, (node) => {
    const pretence = ts.isCallExpression(node) ? pretenceOf(node) : null
    if (pretence !== null) complaints.push(complain(source, node, pretence))
  })
  return complaints
}
