import { homedir } from "node:os"
import ts from "typescript"
import { type Complaint, ROOT, type SourceText, complain, parse } from "./tree.ts"

/** What is left unfinished says so with one of these. */
const UNFINISHED = /\b(TODO|FIXME|XXX|HACK|[Nn]ot implemented)\b/g

/** Words that name no thing. At the end of a name, or as a word of a file's name. */
const EMPTY_NAME = /(Service|Manager|Helper|Util|Common)s?$/
const EMPTY_FILE_WORD = /^(service|manager|helper|util|common)s?$/

/** The line of a place in a text, counted from 1. */
const lineOf = (text: string, index: number): number => text.slice(0, index).split("\n").length

/** Words that say that something is left to do. */
export function unfinishedWords(file: SourceText): readonly Complaint[] {
  return [...file.text.matchAll(UNFINISHED)].map(
    (match) => `${file.path}:${lineOf(file.text, match.index)}: unfinished: ${match[0]}`,
  )
}

/** Paths that exist on one machine only. */
export function machinePaths(file: SourceText): readonly Complaint[] {
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
export function searchedPayments(file: SourceText): readonly Complaint[] {
  return [...file.text.matchAll(/\.search\(/g)].map(
    (match) => `${file.path}:${lineOf(file.text, match.index)}: asks a search that is behind`,
  )
}

/** A file whose name says nothing. */
export function fileNames(file: SourceText): readonly Complaint[] {
  return file.path
    .replace(/\.[a-z.]+$/, "")
    .split(/[/-]/)
    .filter((word) => EMPTY_FILE_WORD.test(word))
    .map((word) => `${file.path}:1: "${word}" names no thing`)
}

/** Whether a statement begins with `export`. */
export function isExported(node: ts.Statement): boolean {
  if (!ts.canHaveModifiers(node)) return false
  return (ts.getModifiers(node) ?? []).some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)
}

/** The names that a statement declares. */
export function declaredNames(node: ts.Statement): readonly string[] {
  if (ts.isVariableStatement(node)) {
    return node.declarationList.declarations.map(({ name }) => name.getText())
  }
  const declaration = node as ts.Statement & { readonly name?: ts.Node }
  return declaration.name === undefined ? [] : [declaration.name.getText()]
}

/** Exported names that end in a word that names no thing. */
export function exportedNames(file: SourceText): readonly Complaint[] {
  const source = parse(file)
  return source.statements.filter(isExported).flatMap((statement) =>
    declaredNames(statement)
      .filter((name) => EMPTY_NAME.test(name))
      .map((name) => complain(source, statement, `"${name}" names no thing`)),
  )
}
