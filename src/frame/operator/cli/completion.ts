/** Completion in a shell: a script that knows every word of the catalogue. */
import type { Command } from "commander"
import type { Catalogue } from "./command-spec.ts"
import { PROGRAM_NAME, buildCommandParser } from "./command-parser.ts"

/** The shells whose completion there is. */
export const COMPLETION_SHELLS = ["bash", "zsh"] as const

/** A shell that is completed in. */
export type CompletionShell = (typeof COMPLETION_SHELLS)[number]

/** The program's file, which a shell knows it by that has no command of its name or an alias for one. */
const FILE = "ledger.mjs"

/** zsh takes what was written for bash once it was asked to. */
const SHELL_PREAMBLES: Record<CompletionShell, string> = {
  bash: "",
  zsh: "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n",
}

/** Of help, which nobody asks for here. */
const COLUMNS = 80

/** What may be said next: behind a command, or behind an option of it. */
interface CompletionStep {
  readonly after: string
  readonly words: readonly string[]
}

/**
 * The script that a shell reads. It calls nothing: it holds the words of this release. Behind a command
 * it offers what may be said next, behind an option its choices, and files where any word may stand.
 */
export function completionScript(catalogue: Catalogue, shell: CompletionShell): string {
  const nowhere = { out: "", err: "" }
  const program = buildCommandParser(catalogue, COLUMNS, nowhere, () => undefined)
  const next = [...nextWords(catalogue, program, ""), ...helpWords(program)]
  const cases = next.map(({ after, words }) => `    '${after}') words='${words.join(" ")}' ;;\n`)
  const commands = next.flatMap(({ after }) =>
    after === "" || after.includes(" --") ? [] : [`'${after}'`],
  )
  return `# Completes the words of ${PROGRAM_NAME}: source <(${PROGRAM_NAME} completion ${shell})
${SHELL_PREAMBLES[shell]}_company_ledger() {
  local i words command="" said="" current="\${COMP_WORDS[COMP_CWORD]}"
  for ((i = 1; i < COMP_CWORD && i < 3; i++)); do
    said="\${command:+$command }\${COMP_WORDS[i]}"
    case "$said" in
    ${commands.join(" | ")}) command="$said" ;;
    *) break ;;
    esac
  done
  COMPREPLY=()
  [ "$COMP_CWORD" -gt 1 ] && [ -z "$command" ] && return
  for said in "$command \${COMP_WORDS[COMP_CWORD - 1]}" "$command"; do
    words="?"
    case "$said" in
${cases.join("")}    esac
    [ "$words" = "?" ] || break
  done
  for said in $words; do
    case "$said" in "$current"*) COMPREPLY+=("$said") ;; esac
  done
}
complete -o default -F _company_ledger ${PROGRAM_NAME} ${FILE}
`
}

/** Behind `help` stands what the first word of a command may be, and nothing more. */
function helpWords(program: Command): readonly CompletionStep[] {
  const topics = program.commands.map((one) => one.name())
  const nothing = topics.map((topic) => ({ after: `help ${topic}`, words: [] }))
  return [{ after: "help", words: topics }, ...nothing]
}

/** All that may be said next, command by command. */
function nextWords(
  catalogue: Catalogue,
  command: Command,
  path: string,
): readonly CompletionStep[] {
  const spec = catalogue.commands.find(({ name }) => name === path)
  const topics = command.commands.map((one) => one.name())
  const suggested = spec?.arguments.flatMap(({ suggests = [] }) => suggests) ?? []
  const flags = command.options.map(({ long, short }) => long ?? short ?? "")
  const choices = command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices)
  const ofOptions = command.options.flatMap(({ long, required, argChoices }) => {
    const own = spec?.options.find(({ flags: said }) => said.split(" ")[0] === long)
    const words = argChoices ?? own?.suggests ?? []
    return required ? [{ after: `${path} ${long ?? ""}`, words }] : []
  })
  const help = path === "" ? ["help"] : []
  return [
    { after: path, words: [...topics, ...help, ...choices, ...suggested, ...flags, "--help"] },
    ...ofOptions,
    ...command.commands.flatMap((one) =>
      nextWords(catalogue, one, path === "" ? one.name() : `${path} ${one.name()}`),
    ),
  ]
}
