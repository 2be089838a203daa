import ts from "typescript"
import { type Complaint, type SourceText, complain, parse, walk } from "./tree.ts"

/** The most lines a function may have. */
export const FUNCTION_LINES = 80

/** Whether a node calls `describe`. */
const isDescribe = (node: ts.Node): boolean =>
  ts.isCallExpression(node) && /^describe\b/.test(node.expression.getText())

/** Whether a function only groups tests: the body of a `describe`, or a contract made of some. */
function isGroup(node: ts.Node, body: ts.Node): boolean {
  const isContract =
    ts.isBlock(body) &&
    body.statements.some((it) => ts.isExpressionStatement(it) && isDescribe(it.expression))
  return isDescribe(node.parent) || isContract
}

/** Functions of more than `FUNCTION_LINES` lines. */
export function longFunctions(file: SourceText): readonly Complaint[] {
  const source = parse(file)
  const complaints: Complaint[] = []
  walk(source, (node) => {
    if (!ts.isFunctionLike(node) || !("body" in node) || node.body === undefined) return
    if (isGroup(node, node.body as ts.Node)) return
    const first = source.getLineAndCharacterOfPosition(node.getStart(source)).line
    const lines = source.getLineAndCharacterOfPosition(node.end).line - first + 1
    if (lines > FUNCTION_LINES) {
      complaints.push(complain(source, node, `a function of ${lines} lines`))
    }
  })
  return complaints
}
