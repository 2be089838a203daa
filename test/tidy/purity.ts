import ts from "typescript"
import { type Complaint, type SourceText, complain, parse, walk } from "./tree.ts"

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

/** Places that read the clock or chance. Commands carry their time and their ids. */
export function impurities(file: SourceText): readonly Complaint[] {
  const source = parse(file)
  const complaints: Complaint[] = []
  walk(source, (node) => {
    const impurity = impurityOf(node)
    if (impurity !== null) complaints.push(complain(source, node, `impure: ${impurity}`))
  })
  return complaints
}
