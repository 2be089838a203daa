import ts from "typescript"
import { type Complaint, type SourceText, complain, parse, walk } from "./tree.ts"
import { declaredNames, isExported } from "./words.ts"

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
export function undocumented(file: SourceText): readonly Complaint[] {
  const source = parse(file)
  const overloaded = new Set<string>()
  return source.statements.filter(isDeclaration).flatMap((statement) => {
    const names = declaredNames(statement)
    const name = names.join(", ")
    // Of an overloaded function the first signature carries the docstring.
    if (ts.isFunctionDeclaration(statement) && overloaded.has(name)) return []
    if (ts.isFunctionDeclaration(statement) && statement.body === undefined) overloaded.add(name)
    const doc = docsBefore(statement).at(-1)
    if (doc === undefined) return [complain(source, statement, `${name} has no docstring`)]
    if (SENTENCE.test(wordsOf(doc))) return []
    return [complain(source, statement, `the docstring of ${name} is no sentence`)]
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
export function unnamedErrors(file: SourceText): readonly Complaint[] {
  const source = parse(file)
  return source.statements.filter(isDeclaration).flatMap((statement) => {
    const docs = docsWithin(statement)
    return [...thrownIn(statement)]
      .filter((error) => !new RegExp(`\\b${error}\\b`).test(docs))
      .map((error) => {
        const name = declaredNames(statement).join(", ")
        return complain(source, statement, `${name} throws ${error} and does not say so`)
      })
  })
}
