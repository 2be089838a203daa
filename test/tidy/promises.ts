import ts from "typescript"
import { type Complaint, complain, walk } from "./tree.ts"

/** Whether a value of a type has a `then` that can be called. */
function isPromise(checker: ts.TypeChecker, type: ts.Type): boolean {
  const parts = type.isUnion() ? type.types : [type]
  return parts.some((part) => {
    const then = part.getProperty("then")
    if (then === undefined) return false
    return checker.getTypeOfSymbol(then).getCallSignatures().length > 0
  })
}

/** Whether an expression deals with its promise: by `void`, by assignment or by a last `catch`. */
function isDealtWith(expression: ts.Expression): boolean {
  if (ts.isVoidExpression(expression) || ts.isAwaitExpression(expression)) return true
  if (ts.isBinaryExpression(expression)) return true
  if (!ts.isCallExpression(expression)) return false
  const callee = expression.expression
  if (!ts.isPropertyAccessExpression(callee)) return false
  const name = callee.name.text
  return name === "catch" || (name === "then" && expression.arguments.length > 1)
}

/** Statements of a file that drop a promise, so that its failure would be nobody's. */
export function floatingPromises(
  checker: ts.TypeChecker,
  source: ts.SourceFile,
): readonly Complaint[] {
  const complaints: Complaint[] = []
  walk(source, (node) => {
    if (!ts.isExpressionStatement(node) || isDealtWith(node.expression)) return
    if (isPromise(checker, checker.getTypeAtLocation(node.expression))) {
      complaints.push(complain(source, node, "a promise that nobody waits for"))
    }
  })
  return complaints
}
